-- A list in one text becomes an array.
-- loaded: recipe
-- before
CREATE TABLE recipe (id int PRIMARY KEY, tags text);
INSERT INTO recipe VALUES (1, 'hot,sweet'), (2, ''), (3, NULL);
-- migration
ALTER TABLE recipe ALTER COLUMN tags TYPE text[] USING string_to_array(tags, ',');
ALTER TABLE recipe ALTER COLUMN tags SET DEFAULT '{}';
-- after
UPDATE recipe SET tags = tags || 'new'::text WHERE id = 1;
INSERT INTO recipe (id) VALUES (4);
