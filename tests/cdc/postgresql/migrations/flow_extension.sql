-- An extension with types and functions, used at once.
-- before
CREATE TABLE secret (id int PRIMARY KEY, v text);
INSERT INTO secret VALUES (1, 'a');
-- migration
CREATE EXTENSION IF NOT EXISTS pgcrypto SCHEMA public;
CREATE EXTENSION IF NOT EXISTS ltree SCHEMA public;
ALTER TABLE secret ADD COLUMN hash bytea, ADD COLUMN path public.ltree;
UPDATE secret SET hash = sha256(v::bytea), path = 'top.a';
-- after
INSERT INTO secret VALUES (2, 'b', '\x01', 'top.b');
