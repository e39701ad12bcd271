-- What Spark may read and write: the two containers of the lake account, each as an external location.
-- Needs CREATE EXTERNAL LOCATION on the metastore and on the storage credential; its owner has it.
--
-- No external location may lie within another. Where one covers the whole account already, or one of
-- the containers, leave these out and grant on that one. A container's name is lower case, and so it
-- must stand here; below it, paths are as publishers spell them.
-- In a sovereign cloud the host is another: OPENMIRROR_ROOT has it.

CREATE EXTERNAL LOCATION IF NOT EXISTS `openmirror_lake`
  URL 'abfss://lake@${LAKE_ACCOUNT}.dfs.core.windows.net/'
  WITH (STORAGE CREDENTIAL `openmirror_storage`)
  COMMENT 'The mirrored tables, and what openmirror knows of them.';

-- The location of `landing` is made first, by the CLI: SQL has no word for read-only, nor for leaving
-- out the check, which tries to write, or to find a file where there is none yet. Spark only reads
-- there; status files are written by Python, with the service credential.
--
--   databricks external-locations create openmirror_landing \
--     "abfss://landing@${LAKE_ACCOUNT}.dfs.core.windows.net/" openmirror_storage \
--     --read-only --skip-validation

GRANT READ FILES ON EXTERNAL LOCATION `openmirror_landing` TO `${RUNNER_CLIENT_ID}`;
GRANT READ FILES, WRITE FILES ON EXTERNAL LOCATION `openmirror_lake` TO `${RUNNER_CLIENT_ID}`;
