-- An enum becomes a text with a check.
-- loaded: alarm
-- before
CREATE TYPE level AS ENUM ('low', 'high');
CREATE TABLE alarm (id int PRIMARY KEY, level level);
INSERT INTO alarm VALUES (1, 'low'), (2, 'high');
-- migration
ALTER TABLE alarm ALTER COLUMN level TYPE text USING level::text;
ALTER TABLE alarm ADD CONSTRAINT alarm_level CHECK (level IN ('low', 'high', 'max'));
DROP TYPE level;
-- after
INSERT INTO alarm VALUES (3, 'max');
