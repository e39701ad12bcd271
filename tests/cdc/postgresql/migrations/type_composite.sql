-- An attribute more for a composite type, and the first one for a type without any.
-- loaded: empty, payment
-- before
CREATE TYPE money_of AS (amount numeric(10, 2), currency char(3));
CREATE TABLE payment (id int PRIMARY KEY, paid money_of);
INSERT INTO payment VALUES (1, (1.50, 'CHF')), (2, NULL);
CREATE TYPE nothing AS ();
CREATE TABLE empty (id int PRIMARY KEY, v nothing);
INSERT INTO empty VALUES (1, '()'), (2, NULL);
-- migration
ALTER TYPE nothing ADD ATTRIBUTE n int;
ALTER TYPE money_of ADD ATTRIBUTE at date;
-- after
INSERT INTO payment VALUES (3, (2, 'EUR', '2024-01-01'));
