-- A column may be empty from now on.
-- before
CREATE TABLE contact (id int PRIMARY KEY, email text NOT NULL);
INSERT INTO contact VALUES (1, 'a@x.org');
-- migration
ALTER TABLE contact ALTER COLUMN email DROP NOT NULL;
-- after
INSERT INTO contact VALUES (2, NULL);
UPDATE contact SET email = NULL WHERE id = 1;
