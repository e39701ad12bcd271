-- A column that is dropped, and added empty under its name and of another type.
-- loaded: setting
-- before
CREATE TABLE setting (id int PRIMARY KEY, value text);
INSERT INTO setting VALUES (1, '10'), (2, '20');
-- migration
ALTER TABLE setting DROP COLUMN value;
ALTER TABLE setting ADD COLUMN value integer;
-- after
UPDATE setting SET value = 30 WHERE id = 1;
