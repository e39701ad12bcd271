-- No two bookings of a room at a time.
-- before
CREATE TABLE booking (id int PRIMARY KEY, room int, during tstzrange);
INSERT INTO booking VALUES (1, 1, '[2024-01-01 10:00+00, 2024-01-01 11:00+00)');
-- migration
CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA public;
ALTER TABLE booking ADD CONSTRAINT booking_no_overlap EXCLUDE USING gist (room WITH =, during WITH &&);
-- after
INSERT INTO booking VALUES (2, 1, '[2024-01-01 11:00+00, 2024-01-01 12:00+00)');
UPDATE booking SET room = 2 WHERE id = 1;
