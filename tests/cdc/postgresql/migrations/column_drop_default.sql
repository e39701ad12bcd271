-- No default any more.
-- before
CREATE TABLE page (id serial PRIMARY KEY, hits int DEFAULT 0);
INSERT INTO page DEFAULT VALUES;
-- migration
ALTER TABLE page ALTER COLUMN hits DROP DEFAULT;
-- after
INSERT INTO page DEFAULT VALUES;
UPDATE page SET hits = 7 WHERE id = 1;
