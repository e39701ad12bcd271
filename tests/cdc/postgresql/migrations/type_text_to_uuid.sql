-- Texts become uuids.
-- loaded: session
-- before
CREATE TABLE session (id int PRIMARY KEY, token varchar(36));
INSERT INTO session VALUES (1, '6F9619FF-8B86-D011-B42D-00CF4FC964FF'), (2, NULL);
-- migration
ALTER TABLE session ALTER COLUMN token TYPE uuid USING token::uuid;
-- after
INSERT INTO session VALUES (3, gen_random_uuid());
