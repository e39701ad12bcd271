-- An online change: a copy that triggers keep, filled in batches, takes the name.
-- loaded: big
-- before
CREATE TABLE big (id int PRIMARY KEY, kind text, data text);
INSERT INTO big SELECT g, 'k' || g % 4, 'd' || g FROM generate_series(1, 80) g;
-- migration
CREATE TABLE _big_new (id bigint PRIMARY KEY, kind varchar(20) NOT NULL DEFAULT '', data text);
CREATE FUNCTION big_sync() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF tg_op IN ('DELETE', 'UPDATE') THEN DELETE FROM _big_new WHERE id = old.id; END IF;
  IF tg_op IN ('INSERT', 'UPDATE') THEN INSERT INTO _big_new VALUES (new.id, new.kind, new.data) ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, data = excluded.data; END IF;
  RETURN NULL; END $$;
CREATE TRIGGER big_sync AFTER INSERT OR UPDATE OR DELETE ON big FOR EACH ROW EXECUTE FUNCTION big_sync();
DO $$ BEGIN FOR i IN 0..3 LOOP
  INSERT INTO _big_new SELECT id, kind, data FROM big WHERE id > i * 20 AND id <= i * 20 + 20 ON CONFLICT DO NOTHING;
  COMMIT;
END LOOP; END $$;
UPDATE big SET kind = 'meanwhile' WHERE id = 5;
DELETE FROM big WHERE id = 6;
BEGIN;
LOCK TABLE big IN ACCESS EXCLUSIVE MODE;
DROP TRIGGER big_sync ON big;
ALTER TABLE big RENAME TO _big_old;
ALTER TABLE _big_new RENAME TO big;
COMMIT;
-- after
INSERT INTO big VALUES (6000000000, 'new', 'n');
UPDATE big SET data = 'after' WHERE id = 7;
DROP TABLE _big_old;
DROP FUNCTION big_sync;
