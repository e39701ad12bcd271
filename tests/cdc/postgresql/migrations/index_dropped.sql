-- Indexes that nobody uses.
-- before
CREATE TABLE cargo (id int PRIMARY KEY, a int, b int);
CREATE INDEX cargo_a ON cargo (a);
CREATE INDEX cargo_b ON cargo (b);
INSERT INTO cargo VALUES (1, 1, 1);
-- migration
DROP INDEX CONCURRENTLY cargo_a;
DROP INDEX cargo_b;
-- after
INSERT INTO cargo VALUES (2, 2, 2);
