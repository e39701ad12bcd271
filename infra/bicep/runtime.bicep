// The account of the machinery: queues, dead letters, the app's package and the host's own state. It is
// a second one because the Functions host needs wide rights on its storage, and those must not
// include data; and because queues want no hierarchical namespace.

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

@description('Days that deleted dead letters and packages can be brought back.')
param deletedDays int

resource account 'Microsoft.Storage/storageAccounts@2025-08-01' = {
  // checkov:skip=CKV_AZURE_35: runners anywhere take work from it with Entra ID; the parameter privateNetwork denies by default
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
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    isLocalUserEnabled: false
    // Not `Disabled`: Event Grid delivers to its queue, and it is a trusted service.
    publicNetworkAccess: 'Enabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
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

resource deadLetters 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-08-01' = {
  parent: blobs
  name: 'dead-letters'
  properties: {
    publicAccess: 'None'
  }
}

resource deployments 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-08-01' = {
  parent: blobs
  name: 'deployments'
  properties: {
    publicAccess: 'None'
  }
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-08-01' = {
  parent: account
  name: 'default'
}

// The poison queues are made here as well: the app's rights end at queues that are there.
resource landingEvents 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-08-01' = {
  parent: queueService
  name: 'landing-events'
}

resource landingEventsPoison 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-08-01' = {
  parent: queueService
  name: 'landing-events-poison'
}

resource tableWork 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-08-01' = {
  parent: queueService
  name: 'table-work'
}

resource tableWorkPoison 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-08-01' = {
  parent: queueService
  name: 'table-work-poison'
}

@description('Resource id of the account.')
output id string = account.id

@description('Name of the account.')
output name string = account.name

@description('Blob endpoint: host state and dead letters.')
output blobEndpoint string = account.properties.primaryEndpoints.blob

@description('Queue endpoint.')
output queueEndpoint string = account.properties.primaryEndpoints.queue

@description('Table endpoint: the host\'s diagnostic events.')
output tableEndpoint string = account.properties.primaryEndpoints.table

@description('Where the app\'s package lies.')
output deploymentsUrl string = '${account.properties.primaryEndpoints.blob}${deployments.name}'

@description('Container of dead letters.')
output deadLettersContainer string = deadLetters.name

@description('Queue that Event Grid fills.')
output landingEventsQueue string = landingEvents.name
