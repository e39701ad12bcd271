-- 0 and 1 become booleans.
-- loaded: flag
-- before
CREATE TABLE flag (id int PRIMARY KEY, is_on smallint NOT NULL DEFAULT 0);
INSERT INTO flag VALUES (1, 1), (2, 0);
-- migration
BEGIN;
ALTER TABLE flag ALTER COLUMN is_on DROP DEFAULT;
ALTER TABLE flag ALTER COLUMN is_on TYPE boolean USING is_on <> 0;
ALTER TABLE flag ALTER COLUMN is_on SET DEFAULT false;
COMMIT;
-- after
INSERT INTO flag (id) VALUES (3);
