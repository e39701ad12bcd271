-- A number goes, and the columns that name a row become its key.
-- loaded: membership
-- before
CREATE TABLE membership (id serial PRIMARY KEY, user_id int NOT NULL, group_id int NOT NULL);
INSERT INTO membership (user_id, group_id) VALUES (1, 1), (1, 2), (2, 2);
-- migration
BEGIN;
ALTER TABLE membership DROP CONSTRAINT membership_pkey;
ALTER TABLE membership ADD PRIMARY KEY (user_id, group_id);
ALTER TABLE membership DROP COLUMN id;
COMMIT;
-- after
INSERT INTO membership VALUES (3, 1);
DELETE FROM membership WHERE user_id = 1 AND group_id = 1;
