-- Two columns become one.
-- before
CREATE TABLE place (id int PRIMARY KEY, lat double precision, lon double precision);
INSERT INTO place VALUES (1, 46.9, 7.4), (2, NULL, NULL);
-- migration
BEGIN;
ALTER TABLE place ADD COLUMN position point;
UPDATE place SET position = point(lon, lat) WHERE lat IS NOT NULL;
ALTER TABLE place DROP COLUMN lat, DROP COLUMN lon;
COMMIT;
-- after
INSERT INTO place VALUES (3, '(1,2)');
UPDATE place SET position = '(3,4)' WHERE id = 2;
