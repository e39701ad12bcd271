-- The type gets another name, and moves.
-- before
CREATE TYPE col AS ENUM ('red', 'blue');
CREATE TABLE wall (id int PRIMARY KEY, col col);
INSERT INTO wall VALUES (1, 'red');
-- migration
ALTER TYPE col RENAME TO wall_colour;
-- after
INSERT INTO wall VALUES (2, 'blue');
