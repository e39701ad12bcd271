-- A domain with a check for a column that was a text.
-- loaded: mailbox
-- before
CREATE TABLE mailbox (id int PRIMARY KEY, address text);
INSERT INTO mailbox VALUES (1, 'a@x.org');
-- migration
BEGIN;
CREATE DOMAIN mail AS text CHECK (value ~ '@');
ALTER TABLE mailbox ALTER COLUMN address TYPE mail;
COMMIT;
-- after
INSERT INTO mailbox VALUES (2, 'b@x.org');
