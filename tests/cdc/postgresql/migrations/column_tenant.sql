-- A tenant for every row: a column with a reference, filled from the parent.
-- before
CREATE TABLE tenant (id int PRIMARY KEY, name text);
CREATE TABLE project (id int PRIMARY KEY, owner text);
INSERT INTO tenant VALUES (1, 'one'), (2, 'two');
INSERT INTO project VALUES (1, 'one'), (2, 'two'), (3, 'one');
-- migration
ALTER TABLE project ADD COLUMN tenant_id int;
UPDATE project SET tenant_id = tenant.id FROM tenant WHERE tenant.name = project.owner;
ALTER TABLE project ADD CONSTRAINT project_tenant FOREIGN KEY (tenant_id) REFERENCES tenant NOT VALID;
ALTER TABLE project VALIDATE CONSTRAINT project_tenant;
ALTER TABLE project ALTER COLUMN tenant_id SET NOT NULL;
CREATE INDEX CONCURRENTLY project_tenant_id ON project (tenant_id);
-- after
INSERT INTO project VALUES (4, 'two', 2);
