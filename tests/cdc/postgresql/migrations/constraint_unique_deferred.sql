-- Places in a list that exchange within a transaction.
-- before
CREATE TABLE track (id int PRIMARY KEY, place int NOT NULL UNIQUE);
INSERT INTO track VALUES (1, 1), (2, 2), (3, 3);
-- migration
BEGIN;
ALTER TABLE track DROP CONSTRAINT track_place_key;
ALTER TABLE track ADD CONSTRAINT track_place UNIQUE (place) DEFERRABLE INITIALLY DEFERRED;
COMMIT;
-- after
UPDATE track SET place = 4 - place;
