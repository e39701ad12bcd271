-- An order of the rows for later CLUSTERs, a fill factor, and settings of autovacuum.
-- before
CREATE TABLE sensor (id int PRIMARY KEY, v int);
INSERT INTO sensor VALUES (1, 1), (2, 2);
-- migration
ALTER TABLE sensor CLUSTER ON sensor_pkey;
ALTER TABLE sensor SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE sensor RESET (fillfactor);
-- after
UPDATE sensor SET v = v + 1;
