-- Alembic: texts of digits become numbers.
-- loaded: score
-- before
CREATE TABLE score (id int PRIMARY KEY, points varchar(10));
INSERT INTO score VALUES (1, '10'), (2, ''), (3, NULL);
-- migration
ALTER TABLE score ALTER COLUMN points TYPE INTEGER USING nullif(points, '')::integer;
-- after
INSERT INTO score VALUES (4, 40);
