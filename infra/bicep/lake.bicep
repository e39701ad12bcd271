// The account that holds data: what publishers land, and the tables that come of it.

@description('Name of the account.')
param name string

@description('Region.')
param location string

@description('Tags of the account.')
param tags object

@description('Redundancy of the account.')
param sku string

@description('Whether only private endpoints, trusted Azure services and the allowed addresses reach it.')
param privateNetwork bool

@description('Public addresses, or ranges of them, that may reach it all the same.')
param allowedAddresses array

@description('Days that deleted files and containers can be brought back.')
param deletedDays int

resource account 'Microsoft.Storage/storageAccounts@2025-08-01' = {
  // checkov:skip=CKV_AZURE_35: publishers anywhere write to it with Entra ID; the parameter privateNetwork denies by default
  // checkov:skip=CKV_AZURE_59: closed altogether it would be closed to Event Grid too; containers are never public
  // checkov:skip=CKV_AZURE_206: redundancy is a parameter, chosen by who pays
  name: name
  location: location
  tags: tags
  sku: {
    name: sku
  }
  kind: 'StorageV2'
  properties: {
    accessTier: 'Hot'
    isHnsEnabled: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    isSftpEnabled: false
    isLocalUserEnabled: false
    // Not `Disabled`: that would shut out trusted services as well, and Event Grid with them.
    publicNetworkAccess: 'Enabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
      // A range of one address is refused here; the address alone is not.
      ipRules: [for address in allowedAddresses: {
        value: replace(address, '/32', '')
        action: 'Allow'
      }]
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-08-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: {
      enabled: true
      days: deletedDays
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: deletedDays
    }
  }
}

resource landing 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-08-01' = {
  parent: blobs
  name: 'landing'
  properties: {
    publicAccess: 'None'
  }
}

resource lake 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-08-01' = {
  parent: blobs
  name: 'lake'
  properties: {
    publicAccess: 'None'
  }
}

@description('Resource id of the account.')
output id string = account.id

@description('Name of the account.')
output name string = account.name

@description('Data Lake endpoint: the root that every part of openmirror is given.')
output dfsEndpoint string = account.properties.primaryEndpoints.dfs
