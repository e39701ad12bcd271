-- A table of one row for each row of another goes into it.
-- before
CREATE TABLE shop (id int PRIMARY KEY, name text);
CREATE TABLE shop_hours (shop_id int PRIMARY KEY REFERENCES shop, opens time, closes time);
INSERT INTO shop VALUES (1, 'a'), (2, 'b');
INSERT INTO shop_hours VALUES (1, '08:00', '18:00');
-- migration
BEGIN;
ALTER TABLE shop ADD COLUMN opens time, ADD COLUMN closes time;
UPDATE shop SET opens = h.opens, closes = h.closes FROM shop_hours h WHERE h.shop_id = shop.id;
DROP TABLE shop_hours;
COMMIT;
-- after
UPDATE shop SET opens = '09:00' WHERE id = 2;
