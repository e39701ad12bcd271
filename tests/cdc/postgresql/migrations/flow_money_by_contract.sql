-- Expand and contract over several releases, with writes of both between.
-- before
CREATE TABLE cart (id int PRIMARY KEY, currency text, total int);
INSERT INTO cart VALUES (1, 'CHF', 10), (2, 'EUR', 20);
-- migration
ALTER TABLE cart ADD COLUMN total_cents bigint;
ALTER TABLE cart ADD COLUMN currency_code char(3);
INSERT INTO cart VALUES (3, 'USD', 30, NULL, NULL);
INSERT INTO cart VALUES (4, 'USD', 40, 4000, 'USD');
UPDATE cart SET total_cents = total * 100, currency_code = currency WHERE total_cents IS NULL;
ALTER TABLE cart ALTER COLUMN total DROP NOT NULL;
INSERT INTO cart (id, total_cents, currency_code) VALUES (5, 5000, 'CHF');
ALTER TABLE cart DROP COLUMN total, DROP COLUMN currency;
ALTER TABLE cart ALTER COLUMN total_cents SET NOT NULL;
-- after
UPDATE cart SET total_cents = 1 WHERE id = 4;
DELETE FROM cart WHERE id = 1;
