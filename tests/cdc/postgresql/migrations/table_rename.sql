-- Rails: a table, its sequence and its indexes under other names.
-- before
CREATE TABLE people (id bigserial PRIMARY KEY, email text);
CREATE UNIQUE INDEX index_people_on_email ON people (email);
INSERT INTO people (email) VALUES ('a@x'), ('b@x');
-- migration
BEGIN;
ALTER TABLE "people" RENAME TO "contacts";
ALTER TABLE "people_id_seq" RENAME TO "contacts_id_seq";
ALTER INDEX "people_pkey" RENAME TO "contacts_pkey";
ALTER INDEX "index_people_on_email" RENAME TO "index_contacts_on_email";
COMMIT;
-- after
INSERT INTO contacts (email) VALUES ('c@x');
UPDATE contacts SET email = 'B@x' WHERE id = 2;
