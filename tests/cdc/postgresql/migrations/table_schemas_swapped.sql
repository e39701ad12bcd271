-- Blue and green: two schemas exchange their names.
-- loaded: table_schemas_swapped__live.rates, table_schemas_swapped__next.rates
-- before
CREATE SCHEMA table_schemas_swapped__live;
CREATE SCHEMA table_schemas_swapped__next;
CREATE TABLE table_schemas_swapped__live.rates (id int PRIMARY KEY, v int);
CREATE TABLE table_schemas_swapped__next.rates (id int PRIMARY KEY, v int, w int);
INSERT INTO table_schemas_swapped__live.rates VALUES (1, 1), (2, 2);
INSERT INTO table_schemas_swapped__next.rates VALUES (1, 10, 0), (3, 30, 0);
-- migration
BEGIN;
ALTER SCHEMA table_schemas_swapped__live RENAME TO table_schemas_swapped__old;
ALTER SCHEMA table_schemas_swapped__next RENAME TO table_schemas_swapped__live;
ALTER SCHEMA table_schemas_swapped__old RENAME TO table_schemas_swapped__next;
COMMIT;
-- after
INSERT INTO table_schemas_swapped__live.rates VALUES (4, 40, 1);
DELETE FROM table_schemas_swapped__next.rates WHERE id = 1;
