-- One table of many kinds becomes a base and a table for each kind.
-- before
CREATE TABLE media (id int PRIMARY KEY, kind text, title text, pages int, minutes int);
INSERT INTO media VALUES (1, 'book', 'b', 100, NULL), (2, 'film', 'f', NULL, 90);
-- migration
BEGIN;
CREATE TABLE media_book (media_id int PRIMARY KEY REFERENCES media, pages int);
CREATE TABLE media_film (media_id int PRIMARY KEY REFERENCES media, minutes int);
INSERT INTO media_book SELECT id, pages FROM media WHERE kind = 'book';
INSERT INTO media_film SELECT id, minutes FROM media WHERE kind = 'film';
ALTER TABLE media DROP COLUMN pages, DROP COLUMN minutes;
COMMIT;
-- after
INSERT INTO media VALUES (3, 'film', 'g');
INSERT INTO media_film VALUES (3, 120);
