-- A check for new rows first, then for all.
-- before
CREATE TABLE stock (id int PRIMARY KEY, amount int);
INSERT INTO stock VALUES (1, 5), (2, -1);
-- migration
ALTER TABLE stock ADD CONSTRAINT stock_not_below_zero CHECK (amount >= 0) NOT VALID;
UPDATE stock SET amount = 0 WHERE amount < 0;
ALTER TABLE stock VALIDATE CONSTRAINT stock_not_below_zero;
-- after
UPDATE stock SET amount = amount + 1;
