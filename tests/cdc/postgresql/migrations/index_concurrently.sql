-- Indexes beside writers, one of which is built again.
-- before
CREATE TABLE trip (id serial PRIMARY KEY, driver int, started timestamptz);
INSERT INTO trip (driver, started) SELECT g % 5, timestamptz '2024-01-01+00' + g * interval '1 h' FROM generate_series(1, 60) g;
-- migration
CREATE INDEX CONCURRENTLY IF NOT EXISTS trip_driver ON trip (driver, started DESC);
REINDEX INDEX CONCURRENTLY trip_driver;
-- after
UPDATE trip SET driver = 9 WHERE id <= 3;
