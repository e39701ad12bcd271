-- Addresses that are compared without their case.
-- loaded: login
-- before
CREATE TABLE login (id int PRIMARY KEY, email varchar(254) NOT NULL);
INSERT INTO login VALUES (1, 'Ann@x.org'), (2, 'bob@x.org');
-- migration
CREATE EXTENSION IF NOT EXISTS citext SCHEMA public;
ALTER TABLE login ALTER COLUMN email TYPE public.citext;
ALTER TABLE login ADD CONSTRAINT login_email_key UNIQUE (email);
-- after
UPDATE login SET email = 'BOB@x.org' WHERE email = 'Bob@X.org';
INSERT INTO login VALUES (3, 'Cy@x.org');
