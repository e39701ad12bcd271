-- Constraints and indexes get the names that a tool expects.
-- before
CREATE TABLE gadget (id int PRIMARY KEY, code text UNIQUE CHECK (code <> ''));
INSERT INTO gadget VALUES (1, 'a');
-- migration
ALTER TABLE gadget RENAME CONSTRAINT gadget_code_key TO uq_gadget_code;
ALTER TABLE gadget RENAME CONSTRAINT gadget_code_check TO ck_gadget_code;
ALTER TABLE gadget RENAME CONSTRAINT gadget_pkey TO pk_gadget;
-- after
INSERT INTO gadget VALUES (2, 'b');
UPDATE gadget SET id = 10 WHERE id = 1;
