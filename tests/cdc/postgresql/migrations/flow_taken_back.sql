-- A migration that fails within its transaction, and is run again with a shorter list.
-- before
CREATE TABLE lot (id int PRIMARY KEY, v int);
INSERT INTO lot VALUES (1, 1), (2, 2);
-- migration
BEGIN;
ALTER TABLE lot ADD COLUMN w int DEFAULT 5;
UPDATE lot SET w = 6 WHERE id = 1;
ROLLBACK;
BEGIN;
SAVEPOINT step;
ALTER TABLE lot ALTER COLUMN v TYPE text;
ROLLBACK TO SAVEPOINT step;
UPDATE lot SET v = v * 10;
COMMIT;
-- after
INSERT INTO lot VALUES (3, 3);
