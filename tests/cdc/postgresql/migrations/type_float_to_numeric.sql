-- Floats become decimals.
-- loaded: weight
-- before
CREATE TABLE weight (id int PRIMARY KEY, kg double precision);
INSERT INTO weight VALUES (1, 0.1), (2, 1e3);
-- migration
ALTER TABLE weight ALTER COLUMN kg TYPE numeric(10, 3) USING round(kg::numeric, 3);
-- after
UPDATE weight SET kg = 2.5 WHERE id = 1;
