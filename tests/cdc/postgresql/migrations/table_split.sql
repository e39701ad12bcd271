-- Columns move into a table of their own.
-- before
CREATE TABLE account (id int PRIMARY KEY, login text, bio text, photo bytea);
INSERT INTO account VALUES (1, 'ann', 'hi', '\x00ff'), (2, 'bob', NULL, NULL);
-- migration
BEGIN;
CREATE TABLE profile (account_id int PRIMARY KEY REFERENCES account ON DELETE CASCADE, bio text, photo bytea);
INSERT INTO profile SELECT id, bio, photo FROM account WHERE bio IS NOT NULL OR photo IS NOT NULL;
ALTER TABLE account DROP COLUMN bio, DROP COLUMN photo;
COMMIT;
-- after
INSERT INTO profile VALUES (2, 'hello', NULL);
DELETE FROM account WHERE id = 1;
