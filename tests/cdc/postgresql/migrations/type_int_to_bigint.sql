-- In place, with the columns that refer to it and the sequence.
-- loaded: child, parent
-- before
CREATE TABLE parent (id serial PRIMARY KEY, v text);
CREATE TABLE child (id serial PRIMARY KEY, parent_id int REFERENCES parent);
INSERT INTO parent (v) VALUES ('a'), ('b');
INSERT INTO child (parent_id) VALUES (1), (2), (2);
-- migration
BEGIN;
ALTER TABLE parent ALTER COLUMN id TYPE bigint;
ALTER TABLE child ALTER COLUMN parent_id TYPE bigint;
ALTER SEQUENCE parent_id_seq AS bigint;
COMMIT;
-- after
INSERT INTO parent VALUES (5000000000, 'c');
INSERT INTO child (parent_id) VALUES (5000000000);
