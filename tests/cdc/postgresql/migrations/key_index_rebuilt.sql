-- The key's index is replaced by one that was built beside writers.
-- before
CREATE TABLE bloated (id int PRIMARY KEY, v text);
INSERT INTO bloated VALUES (1, 'a'), (2, 'b');
-- migration
CREATE UNIQUE INDEX CONCURRENTLY bloated_new ON bloated (id);
ALTER TABLE bloated DROP CONSTRAINT bloated_pkey, ADD CONSTRAINT bloated_pkey PRIMARY KEY USING INDEX bloated_new;
-- after
UPDATE bloated SET v = 'A' WHERE id = 1;
DELETE FROM bloated WHERE id = 2;
