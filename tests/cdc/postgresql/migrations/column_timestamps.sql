-- Rails: created_at and updated_at with the time of the migration for rows that exist.
-- loaded: posts
-- before
CREATE TABLE posts (id bigserial PRIMARY KEY, body text);
INSERT INTO posts (body) VALUES ('one'), ('two');
-- migration
ALTER TABLE posts ADD created_at timestamp(6) DEFAULT CURRENT_TIMESTAMP NOT NULL,
  ADD updated_at timestamp(6) DEFAULT CURRENT_TIMESTAMP NOT NULL;
-- after
UPDATE posts SET body = 'ONE', updated_at = now() WHERE id = 1;
INSERT INTO posts (body) VALUES ('three');
