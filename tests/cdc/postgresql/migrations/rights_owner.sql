-- Another owner.
-- before
CREATE TABLE estate (id int PRIMARY KEY, v text);
INSERT INTO estate VALUES (1, 'a');
DO $$ BEGIN CREATE ROLE migrations_owner; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
-- migration
ALTER TABLE estate OWNER TO migrations_owner;
-- after
UPDATE estate SET v = 'b';
ALTER TABLE estate OWNER TO CURRENT_USER;
