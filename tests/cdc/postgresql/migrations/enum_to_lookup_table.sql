-- An enum becomes a table that is referred to.
-- loaded: pet
-- before
CREATE TYPE kind AS ENUM ('cat', 'dog');
CREATE TABLE pet (id int PRIMARY KEY, kind kind NOT NULL);
INSERT INTO pet VALUES (1, 'cat'), (2, 'dog');
-- migration
BEGIN;
CREATE TABLE pet_kind (id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
INSERT INTO pet_kind (name) SELECT unnest(enum_range(NULL::kind))::text;
ALTER TABLE pet ADD COLUMN kind_id smallint REFERENCES pet_kind;
UPDATE pet SET kind_id = pet_kind.id FROM pet_kind WHERE pet_kind.name = pet.kind::text;
ALTER TABLE pet ALTER COLUMN kind_id SET NOT NULL;
ALTER TABLE pet DROP COLUMN kind;
DROP TYPE kind;
COMMIT;
-- after
INSERT INTO pet_kind (name) VALUES ('bird');
INSERT INTO pet VALUES (3, 3);
