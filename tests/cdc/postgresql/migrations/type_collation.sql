-- Another order of texts.
-- loaded: word
-- before
CREATE TABLE word (id int PRIMARY KEY, w text);
INSERT INTO word VALUES (1, 'a'), (2, 'B');
-- migration
ALTER TABLE word ALTER COLUMN w TYPE text COLLATE "C";
-- after
INSERT INTO word VALUES (3, 'c');
