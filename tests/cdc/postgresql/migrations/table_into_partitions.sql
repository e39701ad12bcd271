-- A table is copied into a partitioned one, which no mirror can take.
-- unfit: metric, metric_1, metric_2
-- before
CREATE TABLE metric (id int, day date, v int, PRIMARY KEY (id, day));
INSERT INTO metric VALUES (1, '2024-01-01', 1), (2, '2024-02-01', 2);
-- migration
BEGIN;
ALTER TABLE metric RENAME TO metric_old;
CREATE TABLE metric (id int, day date, v int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE metric_1 PARTITION OF metric FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE metric_2 PARTITION OF metric FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
INSERT INTO metric SELECT * FROM metric_old;
DROP TABLE metric_old;
COMMIT;
-- after
INSERT INTO metric VALUES (3, '2024-01-15', 3);
UPDATE metric SET v = 9;
