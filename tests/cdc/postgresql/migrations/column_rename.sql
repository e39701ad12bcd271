-- Rails: a column under another name.
-- loaded: invoices
-- before
CREATE TABLE invoices (id bigserial PRIMARY KEY, amount int, customer varchar);
INSERT INTO invoices (amount, customer) VALUES (10, 'ann'), (20, 'bob');
-- migration
ALTER TABLE "invoices" RENAME COLUMN "amount" TO "amount_cents";
-- after
UPDATE invoices SET amount_cents = amount_cents * 100;
INSERT INTO invoices (amount_cents, customer) VALUES (5, 'cy');
