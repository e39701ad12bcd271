-- A column that came and went again, and was never given a value.
-- before
CREATE TABLE mark (id int PRIMARY KEY, v text);
INSERT INTO mark VALUES (1, 'a');
-- migration
ALTER TABLE mark ADD COLUMN w text;
ALTER TABLE mark DROP COLUMN w;
-- after
INSERT INTO mark VALUES (2, 'b');
