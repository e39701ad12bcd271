-- A second column, kept by a trigger, takes the key over.
-- loaded: hit
-- before
CREATE TABLE hit (id serial PRIMARY KEY, url text);
INSERT INTO hit (url) SELECT '/' || g FROM generate_series(1, 50) g;
-- migration
ALTER TABLE hit ADD COLUMN big_id bigint;
CREATE FUNCTION hit_big() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.big_id := new.id; RETURN new; END $$;
CREATE TRIGGER hit_big BEFORE INSERT OR UPDATE ON hit FOR EACH ROW EXECUTE FUNCTION hit_big();
UPDATE hit SET big_id = id WHERE id <= 25;
INSERT INTO hit (url) VALUES ('/meanwhile');
UPDATE hit SET big_id = id WHERE big_id IS NULL;
CREATE UNIQUE INDEX CONCURRENTLY hit_big_id ON hit (big_id);
ALTER TABLE hit ADD CONSTRAINT hit_big_there CHECK (big_id IS NOT NULL) NOT VALID;
ALTER TABLE hit VALIDATE CONSTRAINT hit_big_there;
BEGIN;
DROP TRIGGER hit_big ON hit;
DROP FUNCTION hit_big();
ALTER TABLE hit ALTER COLUMN big_id SET NOT NULL;
ALTER TABLE hit DROP CONSTRAINT hit_pkey;
ALTER TABLE hit ADD CONSTRAINT hit_pkey PRIMARY KEY USING INDEX hit_big_id;
ALTER SEQUENCE hit_id_seq OWNED BY hit.big_id;
ALTER TABLE hit ALTER COLUMN big_id SET DEFAULT nextval('hit_id_seq');
ALTER TABLE hit DROP COLUMN id;
ALTER TABLE hit RENAME COLUMN big_id TO id;
ALTER TABLE hit DROP CONSTRAINT hit_big_there;
COMMIT;
-- after
INSERT INTO hit (url) VALUES ('/after');
INSERT INTO hit (id, url) VALUES (9000000000, '/large');
DELETE FROM hit WHERE id = 3;
