-- A label under another name, in every row.
-- loaded: diary
-- before
CREATE TYPE mood AS ENUM ('ok', 'bad');
CREATE TABLE diary (id int PRIMARY KEY, mood mood);
INSERT INTO diary VALUES (1, 'ok'), (2, 'bad'), (3, NULL);
-- migration
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine';
-- after
INSERT INTO diary VALUES (4, 'fine');
