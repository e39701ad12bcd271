-- A label at the end.
-- before
CREATE TYPE stage AS ENUM ('draft', 'live');
CREATE TABLE story (id int PRIMARY KEY, stage stage NOT NULL);
INSERT INTO story VALUES (1, 'draft'), (2, 'live');
-- migration
ALTER TYPE stage ADD VALUE IF NOT EXISTS 'archived';
-- after
INSERT INTO story VALUES (3, 'archived');
UPDATE story SET stage = 'archived' WHERE id = 1;
