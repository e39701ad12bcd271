-- An unlogged table takes a file, and goes.
-- before
CREATE TABLE customer (id int PRIMARY KEY, name text);
INSERT INTO customer VALUES (1, 'a'), (2, 'b');
-- migration
CREATE UNLOGGED TABLE import_customer (id int PRIMARY KEY, name text);
INSERT INTO import_customer VALUES (2, 'B'), (3, 'c');
INSERT INTO customer SELECT * FROM import_customer ON CONFLICT (id) DO UPDATE SET name = excluded.name;
DROP TABLE import_customer;
CREATE TEMP TABLE wrong AS SELECT id FROM customer WHERE name = 'a';
DELETE FROM customer USING wrong WHERE wrong.id = customer.id;
DROP TABLE wrong;
-- after
UPDATE customer SET name = 'C' WHERE id = 3;
