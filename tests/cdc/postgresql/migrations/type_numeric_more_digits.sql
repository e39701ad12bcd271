-- More digits before the point.
-- before
CREATE TABLE ledger (id int PRIMARY KEY, amount numeric(8, 2));
INSERT INTO ledger VALUES (1, 123456.78), (2, NULL);
-- migration
ALTER TABLE ledger ALTER COLUMN amount TYPE numeric(15, 2);
-- after
INSERT INTO ledger VALUES (3, 1234567890123.45);
