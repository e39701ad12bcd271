-- json becomes jsonb.
-- loaded: prefs
-- before
CREATE TABLE prefs (id int PRIMARY KEY, data json NOT NULL DEFAULT '{}');
INSERT INTO prefs VALUES (1, '{"b": 1,   "a": 2}'), (2, '{}');
-- migration
BEGIN;
ALTER TABLE prefs ALTER COLUMN data DROP DEFAULT;
ALTER TABLE prefs ALTER COLUMN data SET DATA TYPE jsonb USING data::jsonb;
ALTER TABLE prefs ALTER COLUMN data SET DEFAULT '{}';
COMMIT;
-- after
INSERT INTO prefs (id) VALUES (3);
