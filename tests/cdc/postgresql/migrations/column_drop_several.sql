-- Django: columns go one by one in one transaction, with the index and the key that need them.
-- before
CREATE TABLE city (id int PRIMARY KEY, name text);
CREATE TABLE person (id int PRIMARY KEY, name text, city_id int REFERENCES city, note text);
CREATE INDEX person_city ON person (city_id);
INSERT INTO city VALUES (1, 'Bern');
INSERT INTO person VALUES (1, 'ann', 1, 'x'), (2, 'bob', NULL, 'y');
-- migration
BEGIN;
ALTER TABLE "person" DROP COLUMN "city_id" CASCADE;
ALTER TABLE "person" DROP COLUMN "note" CASCADE;
COMMIT;
-- after
INSERT INTO person VALUES (3, 'cy');
DELETE FROM city WHERE id = 1;
