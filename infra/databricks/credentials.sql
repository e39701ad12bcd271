-- Who may use the two credentials that Unity Catalog has of the access connector.
--
-- SQL cannot make a credential of a managed identity. The CLI can, once for a metastore, by somebody
-- with CREATE STORAGE CREDENTIAL and CREATE SERVICE CREDENTIAL on it (docs/RUNNER.md#databricks), who
-- must also be Contributor or Owner of the access connector in Azure. Without that Databricks refuses
-- with "Registering a storage credential requires the contributor role over the corresponding access
-- connector".
--
--   databricks credentials create-credential --json '{
--     "name": "openmirror_storage", "purpose": "STORAGE",
--     "azure_managed_identity": {"access_connector_id": "${ACCESS_CONNECTOR_ID}",
--                                "managed_identity_id": "${RUNNER_IDENTITY_ID}"}}'
--   databricks credentials create-credential --json '{
--     "name": "openmirror_service", "purpose": "SERVICE",
--     "azure_managed_identity": {"access_connector_id": "${ACCESS_CONNECTOR_ID}",
--                                "managed_identity_id": "${RUNNER_IDENTITY_ID}"}}'
--
-- The names are the metastore's: a second deployment under the same metastore needs others.
-- Words in ${…} are outputs of infra/bicep; `envsubst` puts them in.

-- With this the runner's Python reads and writes queues, leases, status and telemetry.
GRANT ACCESS ON SERVICE CREDENTIAL `openmirror_service` TO `${RUNNER_CLIENT_ID}`;

-- Nobody is granted the storage credential: the external locations use it, and who may use those is
-- explained in locations.sql.
