-- Texts in one form, and a check that keeps them so.
-- before
CREATE TABLE phone (id int PRIMARY KEY, number text);
INSERT INTO phone VALUES (1, '(031) 12-34'), (2, '+41 31 1234');
-- migration
BEGIN;
UPDATE phone SET number = regexp_replace(number, '[^+0-9]', '', 'g');
ALTER TABLE phone ADD CHECK (number ~ '^[+0-9]+$');
COMMIT;
-- after
INSERT INTO phone VALUES (3, '112');
