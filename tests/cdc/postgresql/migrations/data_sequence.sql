-- A sequence goes on elsewhere, and keys are numbered anew.
-- before
CREATE TABLE chapter (id serial PRIMARY KEY, title text);
INSERT INTO chapter (id, title) VALUES (10, 'a'), (20, 'b'), (30, 'c');
-- migration
UPDATE chapter SET id = -id;
UPDATE chapter SET id = n.n FROM (SELECT id AS old, row_number() OVER (ORDER BY id DESC) AS n FROM chapter) n WHERE n.old = chapter.id;
SELECT setval('chapter_id_seq', (SELECT max(id) FROM chapter));
-- after
INSERT INTO chapter (title) VALUES ('d');
