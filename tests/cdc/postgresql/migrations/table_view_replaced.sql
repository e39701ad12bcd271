-- Views over a table are dropped for a change of its type, and made again.
-- loaded: stay
-- before
CREATE TABLE stay (id int PRIMARY KEY, nights smallint);
INSERT INTO stay VALUES (1, 2), (2, 3);
CREATE VIEW long_stay AS SELECT * FROM stay WHERE nights > 2;
-- migration
BEGIN;
DROP VIEW long_stay;
ALTER TABLE stay ALTER COLUMN nights TYPE integer;
CREATE OR REPLACE VIEW long_stay AS SELECT * FROM stay WHERE nights > 2;
COMMIT;
-- after
INSERT INTO stay VALUES (3, 40000);
