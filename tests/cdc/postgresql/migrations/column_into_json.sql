-- Rarely used columns move into one JSON column.
-- loaded: widget
-- before
CREATE TABLE widget (id int PRIMARY KEY, colour text, size int);
INSERT INTO widget VALUES (1, 'red', 3), (2, NULL, 4);
-- migration
BEGIN;
ALTER TABLE widget ADD COLUMN extra jsonb NOT NULL DEFAULT '{}';
UPDATE widget SET extra = jsonb_strip_nulls(jsonb_build_object('colour', colour, 'size', size));
ALTER TABLE widget DROP COLUMN colour, DROP COLUMN size;
COMMIT;
-- after
UPDATE widget SET extra = extra || '{"size": 5}' WHERE id = 2;
INSERT INTO widget (id) VALUES (3);
