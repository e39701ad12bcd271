-- Only for OPENMIRROR_CATALOG (the bundle's variable `catalog`): the runner registers each table as an
-- external table, so that people find it by name and need no right on files.
--
-- Where the metastore has no storage of its own, a catalog needs a MANAGED LOCATION. Give it one that is
-- not in the container `lake`: managed storage and external tables may not overlap.

CREATE CATALOG IF NOT EXISTS `openmirror` COMMENT 'Mirrored tables.';

-- The runner makes the schemas, and so owns them and the tables in them.
GRANT USE CATALOG, CREATE SCHEMA ON CATALOG `openmirror` TO `${RUNNER_CLIENT_ID}`;
GRANT CREATE EXTERNAL TABLE ON EXTERNAL LOCATION `openmirror_lake` TO `${RUNNER_CLIENT_ID}`;

-- Who reads the tables: a right on the catalog holds for all that is in it, now and later.
--
--   GRANT USE CATALOG, USE SCHEMA, SELECT ON CATALOG `openmirror` TO `analysts`;
