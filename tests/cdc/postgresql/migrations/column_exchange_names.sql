-- A column that was filled beside another takes its name, and keeps the old one under another.
-- loaded: reading
-- before
CREATE TABLE reading (id int PRIMARY KEY, celsius real);
INSERT INTO reading VALUES (1, 20.5), (2, -3);
-- migration
ALTER TABLE reading ADD COLUMN celsius_new numeric(6, 2);
UPDATE reading SET celsius_new = celsius::numeric;
BEGIN;
ALTER TABLE reading RENAME COLUMN celsius TO celsius_old;
ALTER TABLE reading RENAME COLUMN celsius_new TO celsius;
COMMIT;
-- after
INSERT INTO reading (id, celsius) VALUES (3, 1.25);
UPDATE reading SET celsius = 7 WHERE id = 2;
