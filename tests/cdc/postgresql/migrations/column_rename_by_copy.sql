-- A new column, filled by a trigger and in batches; the old one goes in a later release.
-- before
CREATE TABLE member (id serial PRIMARY KEY, nick text);
INSERT INTO member (nick) SELECT 'n' || g FROM generate_series(1, 40) g;
-- migration
ALTER TABLE member ADD COLUMN handle text;
CREATE FUNCTION member_both() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF tg_op = 'INSERT' OR new.nick IS DISTINCT FROM old.nick THEN new.handle := coalesce(new.nick, new.handle); END IF;
  RETURN new; END $$;
CREATE TRIGGER member_both BEFORE INSERT OR UPDATE ON member FOR EACH ROW EXECUTE FUNCTION member_both();
INSERT INTO member (nick) VALUES ('meanwhile');
UPDATE member SET handle = nick WHERE id BETWEEN 1 AND 20;
UPDATE member SET handle = nick WHERE id > 20 AND handle IS NULL;
DROP TRIGGER member_both ON member;
DROP FUNCTION member_both();
ALTER TABLE member DROP COLUMN nick;
-- after
INSERT INTO member (handle) VALUES ('new');
UPDATE member SET handle = 'N1' WHERE id = 1;
