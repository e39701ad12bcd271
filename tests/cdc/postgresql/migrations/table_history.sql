-- Each version of a row is kept, with the time that it was valid.
-- loaded: plan
-- before
CREATE TABLE plan (id int PRIMARY KEY, price int);
INSERT INTO plan VALUES (1, 10), (2, 20);
-- migration
BEGIN;
ALTER TABLE plan ADD COLUMN valid tstzrange NOT NULL DEFAULT tstzrange(now(), NULL);
CREATE TABLE plan_history (LIKE plan, PRIMARY KEY (id, valid));
CREATE FUNCTION plan_versioned() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO plan_history VALUES (old.id, old.price, tstzrange(lower(old.valid), clock_timestamp()));
  new.valid := tstzrange(clock_timestamp(), NULL); RETURN new; END $$;
CREATE TRIGGER plan_versioned BEFORE UPDATE ON plan FOR EACH ROW EXECUTE FUNCTION plan_versioned();
COMMIT;
-- after
UPDATE plan SET price = 11 WHERE id = 1;
UPDATE plan SET price = 12 WHERE id = 1;
