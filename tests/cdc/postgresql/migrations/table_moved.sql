-- A table moves into a schema of its own.
-- before
CREATE TABLE bill (id serial PRIMARY KEY, total numeric(10, 2));
INSERT INTO bill (total) VALUES (1), (2);
-- migration
CREATE SCHEMA table_moved__billing;
ALTER TABLE bill SET SCHEMA table_moved__billing;
-- after
INSERT INTO table_moved__billing.bill (total) VALUES (3);
UPDATE table_moved__billing.bill SET total = 1.5 WHERE id = 1;
