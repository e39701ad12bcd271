-- A column of random identifiers, which rewrites the table.
-- loaded: device
-- before
CREATE TABLE device (id int PRIMARY KEY, label text);
INSERT INTO device SELECT g, 'd' || g FROM generate_series(1, 20) g;
-- migration
ALTER TABLE device ADD COLUMN public_id uuid NOT NULL DEFAULT gen_random_uuid();
CREATE UNIQUE INDEX device_public_id ON device (public_id);
-- after
INSERT INTO device (id, label) VALUES (21, 'd21');
DELETE FROM device WHERE id = 3;
