-- A boolean becomes the time since when it is so.
-- before
CREATE TABLE subscription (id int PRIMARY KEY, cancelled boolean NOT NULL DEFAULT false);
INSERT INTO subscription VALUES (1, true), (2, false);
-- migration
BEGIN;
ALTER TABLE subscription ADD COLUMN cancelled_at timestamptz;
UPDATE subscription SET cancelled_at = now() WHERE cancelled;
ALTER TABLE subscription DROP COLUMN cancelled;
COMMIT;
-- after
UPDATE subscription SET cancelled_at = '2024-02-03 04:05:06+00' WHERE id = 2;
INSERT INTO subscription VALUES (3, NULL);
