-- A foreign key goes, and its rows may outlive their parents.
-- before
CREATE TABLE vendor (id int PRIMARY KEY, name text);
CREATE TABLE item (id int PRIMARY KEY, vendor_id int CONSTRAINT item_vendor REFERENCES vendor);
INSERT INTO vendor VALUES (1, 'v');
INSERT INTO item VALUES (1, 1);
-- migration
ALTER TABLE item DROP CONSTRAINT item_vendor;
-- after
DELETE FROM vendor;
INSERT INTO item VALUES (2, 77);
