-- Rights of roles, now and by default.
-- before
CREATE TABLE report (id int PRIMARY KEY, v text);
INSERT INTO report VALUES (1, 'a');
DO $$ BEGIN CREATE ROLE migrations_app; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
-- migration
REVOKE ALL ON report FROM public;
GRANT USAGE ON SCHEMA rights_grants TO migrations_app;
GRANT SELECT, INSERT, UPDATE (v) ON report TO migrations_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA rights_grants GRANT SELECT ON TABLES TO migrations_app;
CREATE TABLE report_line (id int PRIMARY KEY, report_id int);
-- after
GRANT CREATE ON SCHEMA rights_grants TO migrations_app;
INSERT INTO report_line VALUES (1, 1);
UPDATE report SET v = 'b';
