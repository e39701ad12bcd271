-- Applications of two releases see two schemas of views over one table.
-- before
CREATE TABLE member (id int PRIMARY KEY, name text);
INSERT INTO member VALUES (1, 'ann'), (2, 'bob');
-- migration
BEGIN;
ALTER TABLE member ADD COLUMN display_name text;
CREATE FUNCTION member_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.display_name := coalesce(new.display_name, upper(new.name)); RETURN new; END $$;
CREATE TRIGGER member_down BEFORE INSERT OR UPDATE ON member FOR EACH ROW EXECUTE FUNCTION member_down();
UPDATE member SET name = name;
CREATE SCHEMA table_versioned_views__v1;
CREATE VIEW table_versioned_views__v1.member AS SELECT id, name FROM member;
CREATE SCHEMA table_versioned_views__v2;
CREATE VIEW table_versioned_views__v2.member AS SELECT id, display_name FROM member;
COMMIT;
-- after
INSERT INTO table_versioned_views__v1.member VALUES (3, 'cy');
UPDATE table_versioned_views__v2.member SET display_name = 'Bob' WHERE id = 2;
