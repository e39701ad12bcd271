-- Addresses get their own type.
-- loaded: host
-- before
CREATE TABLE host (id int PRIMARY KEY, ip text);
INSERT INTO host VALUES (1, '10.0.0.1'), (2, '::1');
-- migration
ALTER TABLE host ALTER COLUMN ip TYPE inet USING ip::inet;
-- after
INSERT INTO host VALUES (3, '10.1.0.0/16');
