-- Whole rows in the log, for another reader of it.
-- before
CREATE TABLE audited (id int PRIMARY KEY, v text);
INSERT INTO audited VALUES (1, 'a'), (2, 'b');
-- migration
ALTER TABLE audited REPLICA IDENTITY FULL;
-- after
UPDATE audited SET id = 3, v = 'A' WHERE id = 1;
DELETE FROM audited WHERE id = 2;
