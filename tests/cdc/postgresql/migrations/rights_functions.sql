-- Functions and procedures that write for an application.
-- before
CREATE TABLE wallet (id int PRIMARY KEY, amount int NOT NULL CHECK (amount >= 0));
INSERT INTO wallet VALUES (1, 100), (2, 0);
-- migration
CREATE PROCEDURE pay(source int, target int, paid int) LANGUAGE sql AS $$
  UPDATE wallet SET amount = amount - paid WHERE id = source;
  UPDATE wallet SET amount = amount + paid WHERE id = target; $$;
REVOKE ALL ON PROCEDURE pay FROM public;
-- after
CALL pay(1, 2, 30);
CALL pay(2, 1, 10);
