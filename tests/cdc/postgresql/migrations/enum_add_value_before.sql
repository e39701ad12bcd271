-- A label between others.
-- before
CREATE TYPE size AS ENUM ('s', 'l');
CREATE TABLE shirt (id int PRIMARY KEY, size size);
INSERT INTO shirt VALUES (1, 's'), (2, 'l');
-- migration
ALTER TYPE size ADD VALUE 'm' BEFORE 'l';
-- after
INSERT INTO shirt VALUES (3, 'm');
