-- Rows get a value when they are written next; the rest is touched in batches.
-- before
CREATE TABLE asset (id int PRIMARY KEY, path text);
INSERT INTO asset SELECT g, '/p/' || g FROM generate_series(1, 30) g;
-- migration
ALTER TABLE asset ADD COLUMN checksum text;
CREATE FUNCTION asset_sum() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.checksum := md5(new.path); RETURN new; END $$;
CREATE TRIGGER asset_sum BEFORE INSERT OR UPDATE ON asset FOR EACH ROW EXECUTE FUNCTION asset_sum();
UPDATE asset SET path = path WHERE id <= 15;
UPDATE asset SET path = path WHERE checksum IS NULL;
-- after
INSERT INTO asset (id, path) VALUES (31, '/p/31');
ALTER TABLE asset DISABLE TRIGGER asset_sum;
UPDATE asset SET path = '/q' WHERE id = 1;
