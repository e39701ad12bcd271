-- Alembic: a unique constraint over two columns.
-- before
CREATE TABLE seat (id int PRIMARY KEY, hall int, number int);
INSERT INTO seat VALUES (1, 1, 1), (2, 1, 2);
-- migration
ALTER TABLE seat ADD CONSTRAINT uq_seat_hall_number UNIQUE (hall, number);
-- after
INSERT INTO seat VALUES (3, 2, 1) ON CONFLICT ON CONSTRAINT uq_seat_hall_number DO NOTHING;
INSERT INTO seat VALUES (4, 1, 2) ON CONFLICT (hall, number) DO UPDATE SET number = 9;
