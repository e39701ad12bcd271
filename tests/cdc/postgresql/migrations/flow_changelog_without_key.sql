-- Liquibase: a log without a key, and a lock with one.
-- unfit: databasechangelog
-- before
CREATE TABLE asset (id int PRIMARY KEY);
INSERT INTO asset VALUES (1);
-- migration
CREATE TABLE databasechangeloglock (ID INTEGER NOT NULL, LOCKED BOOLEAN NOT NULL, LOCKGRANTED TIMESTAMP WITHOUT TIME ZONE, CONSTRAINT databasechangeloglock_pkey PRIMARY KEY (ID));
INSERT INTO databasechangeloglock VALUES (1, true, now());
CREATE TABLE databasechangelog (ID VARCHAR(255) NOT NULL, AUTHOR VARCHAR(255) NOT NULL, ORDEREXECUTED INTEGER NOT NULL);
INSERT INTO databasechangelog VALUES ('1', 'me', 1);
ALTER TABLE asset ADD COLUMN name VARCHAR(20);
UPDATE databasechangelog SET ordERexecuted = 2;
UPDATE databasechangeloglock SET locked = false;
-- after
DELETE FROM databasechangelog;
INSERT INTO asset VALUES (2, 'b');
