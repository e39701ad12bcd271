-- Reference data that is there once, however often the migration runs.
-- before
CREATE TABLE permission (code text PRIMARY KEY, title text);
INSERT INTO permission VALUES ('read', 'Reed');
-- migration
INSERT INTO permission VALUES ('read', 'Read'), ('write', 'Write') ON CONFLICT (code) DO UPDATE SET title = excluded.title;
INSERT INTO permission VALUES ('read', 'Read'), ('write', 'Write') ON CONFLICT (code) DO UPDATE SET title = excluded.title;
-- after
UPDATE permission SET code = 'edit' WHERE code = 'write';
