-- Full text search by a generated column and an index of it.
-- left out: document.search
-- loaded: document
-- before
CREATE TABLE document (id serial PRIMARY KEY, title text, body text);
INSERT INTO document (title, body) VALUES ('a', 'the quick fox'), ('b', NULL);
-- migration
ALTER TABLE document ADD COLUMN search tsvector
  GENERATED ALWAYS AS (to_tsvector('english', coalesce(title, '') || ' ' || coalesce(body, ''))) STORED;
CREATE INDEX CONCURRENTLY document_search ON document USING gin (search);
-- after
UPDATE document SET body = 'lazy dogs' WHERE id = 2;
INSERT INTO document (title, body) VALUES ('c', 'new');
