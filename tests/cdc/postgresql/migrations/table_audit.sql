-- A table that a trigger fills with what changes.
-- before
CREATE TABLE salary (id int PRIMARY KEY, amount int);
INSERT INTO salary VALUES (1, 100), (2, 200);
-- migration
CREATE TABLE salary_log (id bigserial PRIMARY KEY, op text, before jsonb, after jsonb, at timestamptz DEFAULT clock_timestamp());
CREATE FUNCTION salary_logged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO salary_log (op, before, after) VALUES (tg_op, to_jsonb(old), to_jsonb(new)); RETURN NULL; END $$;
CREATE TRIGGER salary_logged AFTER INSERT OR UPDATE OR DELETE ON salary FOR EACH ROW EXECUTE FUNCTION salary_logged();
-- after
UPDATE salary SET amount = amount + 1;
DELETE FROM salary WHERE id = 2;
