-- Rails: a column with a default, NOT NULL in one statement.
-- loaded: products
-- before
CREATE TABLE products (id bigserial PRIMARY KEY, name varchar);
INSERT INTO products (name) VALUES ('tea'), ('salt'), ('rice');
-- migration
ALTER TABLE "products" ADD "stock" integer DEFAULT 0 NOT NULL;
-- after
UPDATE products SET stock = stock + 5 WHERE name = 'tea';
INSERT INTO products (name) VALUES ('oil');
