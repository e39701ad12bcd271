-- Old rows move into an archive, batch by batch.
-- before
CREATE TABLE orders (id int PRIMARY KEY, day date, v text);
INSERT INTO orders SELECT g, date '2024-01-01' + g, 'v' || g FROM generate_series(1, 90) g;
-- migration
CREATE TABLE orders_archive (LIKE orders INCLUDING ALL);
DO $$ BEGIN FOR i IN 1..3 LOOP
  WITH gone AS (DELETE FROM orders WHERE id IN (SELECT id FROM orders WHERE day < '2024-02-20' ORDER BY id LIMIT 20) RETURNING *)
  INSERT INTO orders_archive SELECT * FROM gone;
  COMMIT;
END LOOP; END $$;
-- after
INSERT INTO orders VALUES (100, '2024-06-01', 'new');
