-- Times without a zone were UTC, and say so from now on.
-- loaded: stay
-- before
CREATE TABLE stay (id int PRIMARY KEY, at timestamp NOT NULL);
INSERT INTO stay VALUES (1, '2024-01-01 12:00'), (2, '2024-07-01 00:00:00.5');
-- migration
ALTER TABLE stay ALTER COLUMN at TYPE timestamptz USING at AT TIME ZONE 'UTC';
-- after
INSERT INTO stay VALUES (3, '2024-01-01 12:00+02');
