-- Another action ON DELETE, whose rows go without a statement of their own.
-- before
CREATE TABLE forum (id int PRIMARY KEY, name text);
CREATE TABLE message (id int PRIMARY KEY, forum_id int, CONSTRAINT message_forum FOREIGN KEY (forum_id) REFERENCES forum);
INSERT INTO forum VALUES (1, 'a'), (2, 'b');
INSERT INTO message SELECT g, 1 + g % 2 FROM generate_series(1, 8) g;
-- migration
BEGIN;
ALTER TABLE message DROP CONSTRAINT message_forum;
ALTER TABLE message ADD CONSTRAINT message_forum FOREIGN KEY (forum_id) REFERENCES forum ON DELETE CASCADE;
COMMIT;
-- after
DELETE FROM forum WHERE id = 2;
