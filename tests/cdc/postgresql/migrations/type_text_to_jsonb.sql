-- A text of JSON becomes jsonb with an index.
-- loaded: log_entry
-- before
CREATE TABLE log_entry (id int PRIMARY KEY, data text);
INSERT INTO log_entry VALUES (1, '{"a":  1}'), (2, '[1,2]'), (3, NULL);
-- migration
ALTER TABLE log_entry ALTER COLUMN data TYPE jsonb USING data::jsonb;
CREATE INDEX CONCURRENTLY log_entry_data ON log_entry USING gin (data jsonb_path_ops);
-- after
UPDATE log_entry SET data = data || '{"b": 2}' WHERE id = 1;
