-- Django: max_length grows.
-- before
CREATE TABLE product (id serial PRIMARY KEY, name varchar(10) NOT NULL);
INSERT INTO product (name) VALUES ('tea'), ('salt');
-- migration
ALTER TABLE "product" ALTER COLUMN "name" TYPE varchar(200);
-- after
INSERT INTO product (name) VALUES ('a name of more than ten characters');
