-- Dropped and made again with other columns.
-- loaded: cache
-- before
CREATE TABLE cache (id int PRIMARY KEY, v text);
INSERT INTO cache VALUES (1, 'a'), (2, 'b');
-- migration
BEGIN;
DROP TABLE IF EXISTS cache;
CREATE TABLE cache (id int PRIMARY KEY, value jsonb, expires timestamptz);
COMMIT;
-- after
INSERT INTO cache VALUES (5, '{"a": 1}', '2030-01-01+00');
