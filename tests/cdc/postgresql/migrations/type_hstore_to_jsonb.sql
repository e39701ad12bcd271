-- Pairs of hstore become JSON.
-- loaded: attribute
-- before
CREATE TABLE attribute (id int PRIMARY KEY, data public.hstore);
INSERT INTO attribute VALUES (1, 'a=>1,b=>NULL'), (2, '');
-- migration
ALTER TABLE attribute ALTER COLUMN data TYPE jsonb USING public.hstore_to_jsonb(data);
-- after
UPDATE attribute SET data = data || '{"c": "3"}' WHERE id = 2;
