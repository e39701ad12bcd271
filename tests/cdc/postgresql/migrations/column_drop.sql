-- A column that no application reads any more.
-- before
CREATE TABLE customer (id serial PRIMARY KEY, name text, fax text);
INSERT INTO customer (name, fax) VALUES ('ann', '1'), ('bob', NULL);
-- migration
ALTER TABLE customer DROP COLUMN fax;
-- after
UPDATE customer SET name = 'Ann' WHERE id = 1;
INSERT INTO customer (name) VALUES ('cy');
