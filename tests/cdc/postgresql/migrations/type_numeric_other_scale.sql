-- More digits behind the point.
-- loaded: rate
-- before
CREATE TABLE rate (id int PRIMARY KEY, v numeric(8, 2));
INSERT INTO rate VALUES (1, 1.25), (2, 0.10);
-- migration
ALTER TABLE rate ALTER COLUMN v TYPE numeric(12, 6);
-- after
INSERT INTO rate VALUES (3, 0.123456);
