-- Alembic: a column without a default.
-- before
CREATE TABLE account (id serial PRIMARY KEY, email varchar(120) NOT NULL);
INSERT INTO account (email) VALUES ('a@x.org'), ('b@x.org');
-- migration
BEGIN;
ALTER TABLE account ADD COLUMN phone VARCHAR(40);
COMMIT;
-- after
UPDATE account SET phone = '+41 1' WHERE id = 1;
INSERT INTO account (email, phone) VALUES ('c@x.org', NULL), ('d@x.org', '+41 2');
