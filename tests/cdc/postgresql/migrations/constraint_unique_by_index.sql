-- A unique constraint by an index that was made beside writers.
-- before
CREATE TABLE coupon (id int PRIMARY KEY, code text);
INSERT INTO coupon VALUES (1, 'A'), (2, 'B');
-- migration
CREATE UNIQUE INDEX CONCURRENTLY coupon_code_key ON coupon (code);
ALTER TABLE coupon ADD CONSTRAINT coupon_code_key UNIQUE USING INDEX coupon_code_key;
-- after
INSERT INTO coupon VALUES (3, 'C');
