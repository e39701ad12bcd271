-- A large change with triggers and references off.
-- before
CREATE TABLE base (id int PRIMARY KEY, v int);
CREATE TABLE derived (id int PRIMARY KEY REFERENCES base, v int);
INSERT INTO base SELECT g, g FROM generate_series(1, 40) g;
INSERT INTO derived SELECT g, g FROM generate_series(1, 40) g;
-- migration
BEGIN;
SET LOCAL session_replication_role = replica;
UPDATE base SET id = id + 1000;
UPDATE derived SET id = id + 1000;
COMMIT;
-- after
DELETE FROM derived WHERE id > 1030;
DELETE FROM base WHERE id > 1030;
