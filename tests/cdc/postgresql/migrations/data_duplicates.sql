-- Rows that are there twice go, before a unique constraint comes.
-- before
CREATE TABLE subscriber (id int PRIMARY KEY, email text);
INSERT INTO subscriber VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, 'A');
-- migration
UPDATE subscriber SET email = lower(email);
DELETE FROM subscriber a USING subscriber b WHERE a.email = b.email AND a.id > b.id;
ALTER TABLE subscriber ADD UNIQUE (email);
-- after
INSERT INTO subscriber VALUES (5, 'c') ON CONFLICT (email) DO NOTHING;
