-- Alembic: an upgrade, a downgrade, and the upgrade again.
-- loaded: unit
-- before
CREATE TABLE unit (id int PRIMARY KEY, name text);
INSERT INTO unit VALUES (1, 'a'), (2, 'b');
-- migration
ALTER TABLE unit ADD COLUMN active BOOLEAN DEFAULT true NOT NULL;
CREATE INDEX ix_unit_active ON unit (active);
UPDATE unit SET active = false WHERE id = 1;
DROP INDEX ix_unit_active;
ALTER TABLE unit DROP COLUMN active;
ALTER TABLE unit ADD COLUMN active BOOLEAN DEFAULT true NOT NULL;
-- after
INSERT INTO unit (id, name) VALUES (3, 'c');
