-- A new name, and a view of the old one for the release that still runs.
-- before
CREATE TABLE client (id serial PRIMARY KEY, name text);
INSERT INTO client (name) VALUES ('a'), ('b');
-- migration
BEGIN;
ALTER TABLE client RENAME TO customer;
CREATE VIEW client AS SELECT * FROM customer;
COMMIT;
-- after
INSERT INTO client (name) VALUES ('by the view');
UPDATE customer SET name = 'A' WHERE id = 1;
DROP VIEW client;
