-- A limit for a text.
-- loaded: tag
-- before
CREATE TABLE tag (id int PRIMARY KEY, name text);
INSERT INTO tag VALUES (1, 'red'), (2, 'blue');
-- migration
ALTER TABLE tag ALTER COLUMN name TYPE varchar(64);
-- after
INSERT INTO tag VALUES (3, 'green');
