-- Policies by tenant.
-- before
CREATE TABLE doc (id int PRIMARY KEY, tenant text, body text);
INSERT INTO doc VALUES (1, 'a', 'x'), (2, 'b', 'y');
-- migration
ALTER TABLE doc ENABLE ROW LEVEL SECURITY;
CREATE POLICY doc_of_tenant ON doc USING (tenant = current_setting('app.tenant', true));
ALTER TABLE doc FORCE ROW LEVEL SECURITY;
-- after
INSERT INTO doc VALUES (3, 'a', 'z');
UPDATE doc SET body = 'X' WHERE id = 1;
