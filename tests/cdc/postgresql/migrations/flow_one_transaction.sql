-- Many tables in one transaction, with rows before and behind each statement.
-- loaded: a, b, c
-- before
CREATE TABLE a (id int PRIMARY KEY, v text);
CREATE TABLE b (id int PRIMARY KEY, a_id int REFERENCES a, v text);
CREATE TABLE c (id int PRIMARY KEY, v int);
INSERT INTO a VALUES (1, 'a1'), (2, 'a2');
INSERT INTO b VALUES (1, 1, 'b1'), (2, 2, 'b2');
INSERT INTO c VALUES (1, 1);
-- migration
BEGIN;
UPDATE a SET v = 'first' WHERE id = 1;
ALTER TABLE a ADD COLUMN w int DEFAULT 7;
INSERT INTO a VALUES (3, 'a3', 8);
ALTER TABLE b RENAME COLUMN v TO value;
INSERT INTO b VALUES (3, 3, 'b3');
ALTER TABLE c ALTER COLUMN v TYPE text USING 'n' || v;
INSERT INTO c VALUES (2, 'n2');
CREATE TABLE d (id int PRIMARY KEY, c_id int REFERENCES c);
INSERT INTO d VALUES (1, 2);
COMMIT;
-- after
UPDATE a SET w = 9 WHERE id = 2;
UPDATE b SET value = 'B' WHERE id = 1;
INSERT INTO d VALUES (2, 1);
