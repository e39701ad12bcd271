-- A base table from which others inherit a column.
-- before
CREATE TABLE base (id int PRIMARY KEY, v text);
CREATE TABLE special (PRIMARY KEY (id), extra int) INHERITS (base);
INSERT INTO base VALUES (1, 'a');
INSERT INTO special VALUES (2, 'b', 7);
-- migration
ALTER TABLE base ADD COLUMN w int;
UPDATE base SET w = id;
-- after
INSERT INTO special VALUES (3, 'c', 8, 9);
DELETE FROM base WHERE id = 2;
