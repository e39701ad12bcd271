-- Liquibase: several columns in one change set, two of them with values for old rows.
-- loaded: vehicle
-- before
CREATE TABLE vehicle (id bigint PRIMARY KEY, plate varchar(12));
INSERT INTO vehicle VALUES (1, 'BE 1'), (2, 'ZH 2');
-- migration
BEGIN;
ALTER TABLE vehicle ADD seats SMALLINT DEFAULT 5, ADD electric BOOLEAN DEFAULT FALSE NOT NULL, ADD colour VARCHAR(20);
COMMIT;
-- after
UPDATE vehicle SET colour = 'red', electric = true WHERE id = 2;
INSERT INTO vehicle (id, plate) VALUES (3, 'GE 3');
