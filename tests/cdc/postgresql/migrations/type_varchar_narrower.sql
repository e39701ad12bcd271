-- A limit that cuts values.
-- loaded: code
-- before
CREATE TABLE code (id int PRIMARY KEY, v varchar(50));
INSERT INTO code VALUES (1, 'abcdefgh'), (2, 'xy');
-- migration
ALTER TABLE code ALTER COLUMN v TYPE varchar(4) USING left(v, 4);
-- after
INSERT INTO code VALUES (3, 'four');
