-- A partial index of an expression, and a covering one.
-- before
CREATE TABLE person (id int PRIMARY KEY, email text, active boolean);
INSERT INTO person VALUES (1, 'A@x', true), (2, 'b@x', false);
-- migration
CREATE UNIQUE INDEX CONCURRENTLY person_email ON person (lower(email)) WHERE active;
CREATE INDEX person_active ON person (active) INCLUDE (email);
-- after
UPDATE person SET active = true WHERE id = 2;
