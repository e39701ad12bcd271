-- Texts become an enum.
-- loaded: lamp
-- before
CREATE TABLE lamp (id int PRIMARY KEY, state text DEFAULT 'off');
INSERT INTO lamp VALUES (1, 'on'), (2, 'off');
-- migration
BEGIN;
CREATE TYPE lamp_state AS ENUM ('on', 'off');
ALTER TABLE lamp ALTER COLUMN state DROP DEFAULT;
ALTER TABLE lamp ALTER COLUMN state TYPE lamp_state USING state::lamp_state;
ALTER TABLE lamp ALTER COLUMN state SET DEFAULT 'off';
COMMIT;
-- after
INSERT INTO lamp (id) VALUES (3);
UPDATE lamp SET state = 'on' WHERE id = 2;
