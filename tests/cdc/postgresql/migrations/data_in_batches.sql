-- A backfill of some rows at a time, each a transaction.
-- before
CREATE TABLE song (id int PRIMARY KEY, title text, slug text);
INSERT INTO song SELECT g, 'Song ' || g FROM generate_series(1, 200) g;
-- migration
DO $$ DECLARE n int; BEGIN LOOP
  UPDATE song SET slug = lower(replace(title, ' ', '-')) WHERE id IN (SELECT id FROM song WHERE slug IS NULL ORDER BY id LIMIT 50 FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS n = ROW_COUNT;
  COMMIT;
  EXIT WHEN n = 0;
END LOOP; END $$;
CREATE UNIQUE INDEX CONCURRENTLY song_slug ON song (slug);
-- after
INSERT INTO song VALUES (201, 'New', 'new');
