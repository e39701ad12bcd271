-- No limit any more.
-- before
CREATE TABLE review (id serial PRIMARY KEY, body varchar(255));
INSERT INTO review (body) VALUES ('good'), (NULL);
-- migration
ALTER TABLE review ALTER COLUMN body TYPE text;
-- after
UPDATE review SET body = repeat('x', 300) WHERE id = 2;
