-- Comments on a table and its columns.
-- before
CREATE TABLE tariff (id int PRIMARY KEY, rate numeric(6, 3));
INSERT INTO tariff VALUES (1, 0.125);
-- migration
COMMENT ON TABLE tariff IS 'What a unit costs';
COMMENT ON COLUMN tariff.rate IS 'By hour';
-- after
UPDATE tariff SET rate = 0.25;
