-- A default for rows to come.
-- before
CREATE TABLE article (id serial PRIMARY KEY, state text);
INSERT INTO article (state) VALUES (NULL), ('live');
-- migration
ALTER TABLE article ALTER COLUMN state SET DEFAULT 'draft';
-- after
INSERT INTO article DEFAULT VALUES;
UPDATE article SET state = 'draft' WHERE state IS NULL;
