-- A generated column, which servers before 18 do not send.
-- left out: order_line.total
-- loaded: order_line
-- before
CREATE TABLE order_line (id int PRIMARY KEY, price numeric(8, 2), amount int);
INSERT INTO order_line VALUES (1, 2.50, 4), (2, 1.00, 1);
-- migration
ALTER TABLE order_line ADD COLUMN total numeric(12, 2) GENERATED ALWAYS AS (price * amount) STORED;
-- after
UPDATE order_line SET amount = 5 WHERE id = 1;
INSERT INTO order_line (id, price, amount) VALUES (3, 9.99, 2);
