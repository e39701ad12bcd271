-- Times lose their fractions of a second.
-- loaded: tick
-- before
CREATE TABLE tick (id int PRIMARY KEY, at timestamptz(6));
INSERT INTO tick VALUES (1, '2024-01-01 00:00:00.123456+00'), (2, '2024-01-01 00:00:01+00');
-- migration
ALTER TABLE tick ALTER COLUMN at TYPE timestamptz(0);
-- after
INSERT INTO tick VALUES (3, now());
