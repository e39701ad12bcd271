-- A statement with a short time to wait for its lock, tried until it has it.
-- before
CREATE TABLE busy (id int PRIMARY KEY, v text);
INSERT INTO busy VALUES (1, 'a');
-- migration
SET lock_timeout = '2s';
SET statement_timeout = '30s';
ALTER TABLE busy ADD COLUMN w text;
CREATE INDEX CONCURRENTLY busy_v ON busy (v);
-- after
UPDATE busy SET w = 'w';
