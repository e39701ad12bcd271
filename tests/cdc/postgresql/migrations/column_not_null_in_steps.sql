-- A NOT NULL column without a long lock: nullable, filled, checked, validated.
-- before
CREATE TABLE tickets (id serial PRIMARY KEY, title text);
INSERT INTO tickets (title) SELECT 't' || g FROM generate_series(1, 30) g;
-- migration
ALTER TABLE tickets ADD COLUMN priority int;
ALTER TABLE tickets ALTER COLUMN priority SET DEFAULT 3;
UPDATE tickets SET priority = 3 WHERE id <= 15 AND priority IS NULL;
UPDATE tickets SET priority = 3 WHERE priority IS NULL;
ALTER TABLE tickets ADD CONSTRAINT tickets_priority_there CHECK (priority IS NOT NULL) NOT VALID;
ALTER TABLE tickets VALIDATE CONSTRAINT tickets_priority_there;
ALTER TABLE tickets ALTER COLUMN priority SET NOT NULL;
ALTER TABLE tickets DROP CONSTRAINT tickets_priority_there;
-- after
INSERT INTO tickets (title) VALUES ('new');
UPDATE tickets SET priority = 1 WHERE id = 4;
