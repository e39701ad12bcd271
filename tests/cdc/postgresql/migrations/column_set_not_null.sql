-- Flyway: NULLs are filled, and forbidden.
-- before
CREATE TABLE address (id int PRIMARY KEY, street text, country char(2));
INSERT INTO address VALUES (1, 'a', 'CH'), (2, 'b', NULL);
-- migration
UPDATE address SET country = 'CH' WHERE country IS NULL;
ALTER TABLE address ALTER COLUMN country SET NOT NULL;
-- after
INSERT INTO address VALUES (3, 'c', 'DE');
