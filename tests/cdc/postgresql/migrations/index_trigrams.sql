-- An index for LIKE of an extension's own kind.
-- before
CREATE TABLE street (id int PRIMARY KEY, name text);
INSERT INTO street VALUES (1, 'High Street'), (2, 'Low Hill');
-- migration
CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;
CREATE INDEX CONCURRENTLY street_name ON street USING gin (name public.gin_trgm_ops);
-- after
UPDATE street SET name = 'Low Road' WHERE name ILIKE '%hill%';
