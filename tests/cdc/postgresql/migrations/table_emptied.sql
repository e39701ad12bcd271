-- Reference data is emptied and filled again.
-- before
CREATE TABLE country (code char(2) PRIMARY KEY, name text);
INSERT INTO country VALUES ('CH', 'Switzerland'), ('XX', 'Nowhere');
-- migration
BEGIN;
TRUNCATE country;
INSERT INTO country VALUES ('CH', 'Switzerland'), ('DE', 'Germany');
COMMIT;
-- after
INSERT INTO country VALUES ('FR', 'France');
