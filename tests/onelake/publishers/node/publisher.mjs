// Node's: @azure/identity and @azure/storage-file-datalake.
import { readFileSync } from "node:fs";
import {
  AzureCliCredential,
  ClientSecretCredential,
  DefaultAzureCredential,
  ManagedIdentityCredential,
} from "@azure/identity";
import { DataLakeServiceClient } from "@azure/storage-file-datalake";

const credentials = {
  secret: () => new ClientSecretCredential("contoso.onmicrosoft.com", "app", "no-real-secret"),
  managed: () => new ManagedIdentityCredential(),
  az: () => new AzureCliCredential(),
  default: () => new DefaultAzureCredential(),
};

async function publish(zone, table, credential, rows) {
  const url = new URL(zone);
  const [workspace, ...parts] = decodeURIComponent(url.pathname).split("/").filter(Boolean);
  const folder = parts.join("/");
  const service = new DataLakeServiceClient(url.origin, credential);
  const landing = service.getFileSystemClient(workspace);
  const there = landing.getDirectoryClient(`${folder}/${table}`);
  await there.createIfNotExists();
  await there.getFileClient("_metadata.json").upload(Buffer.from('{"keyColumns": ["id"]}'));
  await there.getFileClient("_00000000000000000001.parquet").upload(rows);
  // Of a file its `move` takes the path within the file system.
  await there
    .getFileClient("_00000000000000000001.parquet")
    .move(`${folder}/${table}/00000000000000000001.parquet`);
  const names = [];
  for await (const path of landing.listPaths({ path: `${folder}/${table}` })) {
    names.push(path.name.split("/").pop());
  }
  if (names.sort().join() !== "00000000000000000001.parquet,_metadata.json") {
    throw new Error(`found ${names}`);
  }
}

const [zone, file, ...ways] = process.argv.slice(2);
for (const way of ways) {
  await publish(zone, `node_${way}`, credentials[way](), readFileSync(file));
}
