-- Rails: a counter of children, filled by one UPDATE.
-- loaded: topics
-- before
CREATE TABLE topics (id int PRIMARY KEY, title text);
CREATE TABLE replies (id int PRIMARY KEY, topic_id int REFERENCES topics, body text);
INSERT INTO topics VALUES (1, 'a'), (2, 'b');
INSERT INTO replies SELECT g, 1 + g % 2, 'r' FROM generate_series(1, 7) g;
-- migration
ALTER TABLE topics ADD COLUMN replies_count integer DEFAULT 0 NOT NULL;
UPDATE topics SET replies_count = (SELECT count(*) FROM replies WHERE topic_id = topics.id);
-- after
BEGIN;
INSERT INTO replies VALUES (8, 1, 'new');
UPDATE topics SET replies_count = replies_count + 1 WHERE id = 1;
COMMIT;
