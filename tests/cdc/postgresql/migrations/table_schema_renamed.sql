-- A schema gets another name, and with it its tables.
-- before
CREATE SCHEMA table_schema_renamed__old;
CREATE TABLE table_schema_renamed__old.thing (id int PRIMARY KEY, v text);
INSERT INTO table_schema_renamed__old.thing VALUES (1, 'a');
-- migration
ALTER SCHEMA table_schema_renamed__old RENAME TO table_schema_renamed__new;
-- after
INSERT INTO table_schema_renamed__new.thing VALUES (2, 'b');
UPDATE table_schema_renamed__new.thing SET v = 'A' WHERE id = 1;
