-- Made again beside itself with columns in another order, and renamed.
-- loaded: entry
-- before
CREATE TABLE entry (id int PRIMARY KEY, b text, a text);
INSERT INTO entry SELECT g, 'b' || g, 'a' || g FROM generate_series(1, 20) g;
-- migration
BEGIN;
CREATE TABLE entry_new (id int PRIMARY KEY, a text NOT NULL, b text);
INSERT INTO entry_new (id, a, b) SELECT id, a, b FROM entry;
DROP TABLE entry;
ALTER TABLE entry_new RENAME TO entry;
ALTER TABLE entry RENAME CONSTRAINT entry_new_pkey TO entry_pkey;
COMMIT;
-- after
INSERT INTO entry VALUES (21, 'a21', 'b21');
UPDATE entry SET b = 'B' WHERE id = 1;
