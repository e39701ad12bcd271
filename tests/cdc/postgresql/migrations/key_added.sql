-- A table without a key gets one, and is mirrored from then on.
-- before
CREATE TABLE legacy (code text, v text);
INSERT INTO legacy VALUES ('a', '1'), ('b', '2'), ('b', '2');
-- migration
ALTER TABLE legacy ADD COLUMN id bigserial PRIMARY KEY;
-- after
INSERT INTO legacy (code, v) VALUES ('c', '3');
DELETE FROM legacy WHERE code = 'a';
