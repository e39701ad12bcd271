-- Two tables of one form become one with a kind.
-- before
CREATE TABLE car (id int PRIMARY KEY, name text);
CREATE TABLE bike (id int PRIMARY KEY, name text);
INSERT INTO car VALUES (1, 'c1'), (2, 'c2');
INSERT INTO bike VALUES (1, 'b1');
-- migration
BEGIN;
CREATE TABLE vehicle (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, name text);
INSERT INTO vehicle (kind, name) SELECT 'car', name FROM car UNION ALL SELECT 'bike', name FROM bike;
DROP TABLE car;
DROP TABLE bike;
COMMIT;
-- after
INSERT INTO vehicle (kind, name) VALUES ('bus', 'x');
