-- deleted_at, a partial index over what is there, and a view for readers.
-- before
CREATE TABLE users (id int PRIMARY KEY, login text NOT NULL UNIQUE);
INSERT INTO users VALUES (1, 'ann'), (2, 'bob'), (3, 'cy');
-- migration
BEGIN;
ALTER TABLE users ADD COLUMN deleted_at timestamptz;
ALTER TABLE users DROP CONSTRAINT users_login_key;
CREATE UNIQUE INDEX users_login_alive ON users (login) WHERE deleted_at IS NULL;
CREATE VIEW active_users AS SELECT id, login FROM users WHERE deleted_at IS NULL;
COMMIT;
-- after
UPDATE users SET deleted_at = now() WHERE id = 2;
INSERT INTO users (id, login) VALUES (4, 'bob');
