-- CLUSTER and VACUUM FULL, which write the rows anew and change no value.
-- before
CREATE TABLE sorted (id int PRIMARY KEY, v text);
CREATE TABLE packed (id int PRIMARY KEY, v text);
INSERT INTO sorted SELECT g, md5(g::text) FROM generate_series(1, 50) g;
INSERT INTO packed SELECT g, md5(g::text) FROM generate_series(1, 50) g;
-- migration
CLUSTER sorted USING sorted_pkey;
DELETE FROM packed WHERE id % 2 = 0;
VACUUM FULL packed;
-- after
UPDATE sorted SET v = 'x' WHERE id = 1;
UPDATE packed SET v = 'x' WHERE id = 1;
