// What a runner may do: the identity that this deployment makes for it, and each further principal
// that runs the same program elsewhere.

@description('Name of the lake account.')
param lakeAccount string

@description('Name of the runtime account.')
param runtimeAccount string

@description('Name of Application Insights.')
param insightsName string

@description('Principal that runs it.')
param principalId string

@description('What the principal is: ServicePrincipal, User or Group.')
param principalType string

@description('Whether the principal is an operator too: Azure takes a role once for each principal and scope, and that of an operator then allows what a runner writes in landing.')
param isOperator bool

var blobContributor = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'ba92f5b4-2d11-453d-a403-e96b0029c9fe')
var blobDelegator = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'db58b8e5-c6ad-4a2a-8342-4190687cbf4a')
var queueContributor = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '974c5e8b-45b9-4653-ba55-5f855dd0fb88')
var metricsPublisher = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '3913510d-42f4-4e42-8a64-420c390055eb')

var blob = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs'
var writesNothing = '!(ActionMatches{\'${blob}/write\'}) AND !(ActionMatches{\'${blob}/add/action\'}) AND !(ActionMatches{\'${blob}/delete\'}) AND !(ActionMatches{\'${blob}/move/action\'})'
// `*` matches slashes too. With the second half, what comes before is a mirror's name and no more.
var inMonitoring = '@Resource[${blob}:path] StringLike \'*/Files/Monitoring/*\' AND @Resource[${blob}:path] StringNotLike \'*/*/Files/Monitoring/*\''

resource lakeStorage 'Microsoft.Storage/storageAccounts@2025-08-01' existing = {
  name: lakeAccount

  resource blobs 'blobServices' existing = {
    name: 'default'

    resource landing 'containers' existing = {
      name: 'landing'
    }

    resource lake 'containers' existing = {
      name: 'lake'
    }
  }
}

resource runtimeStorage 'Microsoft.Storage/storageAccounts@2025-08-01' existing = {
  name: runtimeAccount

  resource queueService 'queueServices' existing = {
    name: 'default'

    resource tableWork 'queues' existing = {
      name: 'table-work'
    }

    resource tableWorkPoison 'queues' existing = {
      name: 'table-work-poison'
    }
  }
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource writesStatus 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!isOperator) {
  scope: lakeStorage::blobs::landing
  name: guid(lakeStorage::blobs::landing.id, principalId, blobContributor)
  properties: {
    roleDefinitionId: blobContributor
    principalId: principalId
    principalType: principalType
    conditionVersion: '2.0'
    condition: '((${writesNothing}) OR (${inMonitoring}))'
    description: 'openmirror runner: read change files, write the status files that publishers read; no change file can be written'
  }
}

resource writesLake 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: lakeStorage::blobs::lake
  name: guid(lakeStorage::blobs::lake.id, principalId, blobContributor)
  properties: {
    roleDefinitionId: blobContributor
    principalId: principalId
    principalType: principalType
    description: 'openmirror runner: write tables and control documents, retain a dropped table'
  }
}

resource delegates 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: lakeStorage
  name: guid(lakeStorage.id, principalId, blobDelegator)
  properties: {
    roleDefinitionId: blobDelegator
    principalId: principalId
    principalType: principalType
    description: 'openmirror runner: Unity Catalog hands out short-lived rights of its own; it gives no access to any data'
  }
}

resource takesWork 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage::queueService::tableWork
  name: guid(runtimeStorage::queueService::tableWork.id, principalId, queueContributor)
  properties: {
    roleDefinitionId: queueContributor
    principalId: principalId
    principalType: principalType
    description: 'openmirror runner: take work items, give them back, send new ones'
  }
}

resource deadLettersWork 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage::queueService::tableWorkPoison
  name: guid(runtimeStorage::queueService::tableWorkPoison.id, principalId, queueContributor)
  properties: {
    roleDefinitionId: queueContributor
    principalId: principalId
    principalType: principalType
    description: 'openmirror runner: dead-letter work items that were taken in vain too often'
  }
}

resource telemetry 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: insights
  name: guid(insights.id, principalId, metricsPublisher)
  properties: {
    roleDefinitionId: metricsPublisher
    principalId: principalId
    principalType: principalType
    description: 'openmirror runner: telemetry without a key'
  }
}
