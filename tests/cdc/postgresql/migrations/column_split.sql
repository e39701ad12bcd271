-- One column becomes two.
-- before
CREATE TABLE author (id serial PRIMARY KEY, full_name text NOT NULL);
INSERT INTO author (full_name) VALUES ('Ada Lovelace'), ('Plato');
-- migration
BEGIN;
ALTER TABLE author ADD COLUMN first_name text, ADD COLUMN last_name text;
UPDATE author SET first_name = split_part(full_name, ' ', 1), last_name = nullif(split_part(full_name, ' ', 2), '');
ALTER TABLE author ALTER COLUMN first_name SET NOT NULL;
ALTER TABLE author DROP COLUMN full_name;
COMMIT;
-- after
INSERT INTO author (first_name, last_name) VALUES ('Alan', 'Turing');
UPDATE author SET last_name = 'King' WHERE id = 1;
