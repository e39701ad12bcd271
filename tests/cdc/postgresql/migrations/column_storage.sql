-- Statistics, storage and compression of columns.
-- before
CREATE TABLE blob_row (id int PRIMARY KEY, kind int, content text);
INSERT INTO blob_row SELECT g, g % 3, repeat(md5(g::text), 100) FROM generate_series(1, 10) g;
-- migration
ALTER TABLE blob_row ALTER COLUMN kind SET STATISTICS 500;
ALTER TABLE blob_row ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE blob_row ALTER COLUMN kind SET (n_distinct = 3);
ANALYZE blob_row;
-- after
UPDATE blob_row SET kind = 9 WHERE id = 1;
UPDATE blob_row SET content = repeat('z', 9000) WHERE id = 2;
