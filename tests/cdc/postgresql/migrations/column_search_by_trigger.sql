-- Full text search by a column that a trigger fills.
-- before
CREATE TABLE note (id serial PRIMARY KEY, body text);
INSERT INTO note (body) VALUES ('red apples'), ('green pears');
-- migration
BEGIN;
ALTER TABLE note ADD COLUMN words tsvector;
CREATE TRIGGER note_words BEFORE INSERT OR UPDATE ON note FOR EACH ROW
  EXECUTE FUNCTION tsvector_update_trigger(words, 'pg_catalog.simple', body);
UPDATE note SET words = to_tsvector('simple', body);
CREATE INDEX note_words ON note USING gin (words);
COMMIT;
-- after
INSERT INTO note (body) VALUES ('blue plums');
UPDATE note SET body = 'red cherries' WHERE id = 1;
