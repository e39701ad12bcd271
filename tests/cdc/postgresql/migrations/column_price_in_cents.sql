-- Decimal prices become whole cents in a second column.
-- before
CREATE TABLE price (id int PRIMARY KEY, price numeric(10, 2) NOT NULL);
INSERT INTO price VALUES (1, 12.50), (2, 0.99);
-- migration
ALTER TABLE price ADD COLUMN price_cents bigint;
UPDATE price SET price_cents = round(price * 100);
ALTER TABLE price ALTER COLUMN price_cents SET NOT NULL;
ALTER TABLE price DROP COLUMN price;
-- after
INSERT INTO price VALUES (3, 100);
UPDATE price SET price_cents = 1 WHERE id = 1;
