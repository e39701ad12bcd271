-- A materialized view beside a table, with an index of its own.
-- before
CREATE TABLE sale (id int PRIMARY KEY, day date, amount int);
INSERT INTO sale SELECT g, date '2024-01-01' + g % 3, g FROM generate_series(1, 12) g;
-- migration
CREATE MATERIALIZED VIEW sale_by_day AS SELECT day, sum(amount) AS amount FROM sale GROUP BY day;
CREATE UNIQUE INDEX ON sale_by_day (day);
-- after
INSERT INTO sale VALUES (13, '2024-02-01', 5);
REFRESH MATERIALIZED VIEW CONCURRENTLY sale_by_day;
