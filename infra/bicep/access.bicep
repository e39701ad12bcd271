// What people and publishers may do. Azure takes a role once for each principal and scope, whatever
// its condition says: who is several things at once gets one assignment, and its condition allows all
// of them.

@description('Name of the lake account.')
param lakeAccount string

@description('Name of the runtime account.')
param runtimeAccount string

@description('Who may write into which mirror: {principalId, principalType, mirror}.')
param publishers array

@description('GUID of the role that publishers get.')
param publisherRole string

@description('Who operates it: {principalId, principalType}.')
param operators array

@description('Who may read the tables: {principalId, principalType}.')
param readers array

@description('Who runs the runner beside its own identity: {principalId, principalType}.')
param runners array

var blobContributor = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'ba92f5b4-2d11-453d-a403-e96b0029c9fe')
var publisherRoleId = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', publisherRole)
var blobReader = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1')
var queueReader = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '19e7f393-937e-4f77-808e-94535e297925')

var publisherIds = [for publisher in publishers: publisher.principalId]
var operatorIds = [for operator in operators: operator.principalId]
var runnerIds = [for runner in runners: runner.principalId]

var blob = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs'
var writesNothing = '!(ActionMatches{\'${blob}/write\'}) AND !(ActionMatches{\'${blob}/add/action\'}) AND !(ActionMatches{\'${blob}/delete\'}) AND !(ActionMatches{\'${blob}/move/action\'})'
// The mirror of the sample that `openmirror azure verify` lands, and takes away again.
var inSample = '@Resource[${blob}:path] StringStartsWith \'openmirror-verify/Files/LandingZone/\''
// What a runner may write in landing, as in runner-roles.bicep.
var inMonitoring = '@Resource[${blob}:path] StringLike \'*/Files/Monitoring/*\' AND @Resource[${blob}:path] StringNotLike \'*/*/Files/Monitoring/*\''
var readsNoFile = '!(ActionMatches{\'${blob}/read\'} AND NOT SubOperationMatches{\'Blob.List\'})'
var listsNothing = '!(ActionMatches{\'${blob}/read\'} AND SubOperationMatches{\'Blob.List\'})'

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

  resource blobs 'blobServices' existing = {
    name: 'default'

    resource deadLetters 'containers' existing = {
      name: 'dead-letters'
    }
  }

  resource queueService 'queueServices' existing = {
    name: 'default'

    resource landingEvents 'queues' existing = {
      name: 'landing-events'
    }

    resource landingEventsPoison 'queues' existing = {
      name: 'landing-events-poison'
    }

    resource tableWork 'queues' existing = {
      name: 'table-work'
    }

    resource tableWorkPoison 'queues' existing = {
      name: 'table-work-poison'
    }
  }
}

// The slash after the mirror's name keeps its namesakes out: `sales` is not `sales2`. A runner has
// this role under another condition. Under one name, the one would silently take the other's place;
// under two, Azure says that the role is given already.
// An operator has that role as well, so that one who is both is passed over here.
resource publishes 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for publisher in publishers: if (publisherRoleId != blobContributor || !contains(operatorIds, publisher.principalId)) {
  scope: lakeStorage::blobs::landing
  name: contains(runnerIds, publisher.principalId) ? guid(lakeStorage::blobs::landing.id, publisher.principalId, publisherRoleId, 'publisher') : guid(lakeStorage::blobs::landing.id, publisher.principalId, publisherRoleId)
  properties: {
    roleDefinitionId: publisherRoleId
    principalId: publisher.principalId
    principalType: publisher.principalType
    conditionVersion: '2.0'
    condition: '((${writesNothing}) OR (@Resource[${blob}:path] StringStartsWith \'${publisher.mirror}/Files/LandingZone/\')) AND ((${readsNoFile}) OR (@Resource[${blob}:path] StringStartsWith \'${publisher.mirror}/\')) AND ((${listsNothing}) OR (@Request[${blob}:prefix] StringStartsWith \'${publisher.mirror}/\'))'
    description: 'openmirror publisher of ${publisher.mirror}: write its landing zone, read its own files and status'
  }
}]

// Everything can be read; only the sample can be written.
resource operatesLanding 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for operator in operators: if (publisherRoleId != blobContributor || !contains(publisherIds, operator.principalId)) {
  scope: lakeStorage::blobs::landing
  name: guid(lakeStorage::blobs::landing.id, operator.principalId, blobContributor)
  properties: {
    roleDefinitionId: blobContributor
    principalId: operator.principalId
    principalType: operator.principalType
    conditionVersion: '2.0'
    condition: contains(runnerIds, operator.principalId) ? '((${writesNothing}) OR (${inSample}) OR (${inMonitoring}))' : '((${writesNothing}) OR (${inSample}))'
    description: 'openmirror operator: see what was landed, land and remove a sample'
  }
}]

// The same for one who publishes too, and so may write its own mirror's landing zone.
resource operatesAndPublishes 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for publisher in publishers: if (publisherRoleId == blobContributor && contains(operatorIds, publisher.principalId)) {
  scope: lakeStorage::blobs::landing
  name: guid(lakeStorage::blobs::landing.id, publisher.principalId, blobContributor)
  properties: {
    roleDefinitionId: blobContributor
    principalId: publisher.principalId
    principalType: publisher.principalType
    conditionVersion: '2.0'
    condition: contains(runnerIds, publisher.principalId) ? '((${writesNothing}) OR (${inSample}) OR (@Resource[${blob}:path] StringStartsWith \'${publisher.mirror}/Files/LandingZone/\') OR (${inMonitoring}))' : '((${writesNothing}) OR (${inSample}) OR (@Resource[${blob}:path] StringStartsWith \'${publisher.mirror}/Files/LandingZone/\'))'
    description: 'openmirror operator and publisher of ${publisher.mirror}: see what was landed, write its landing zone, land and remove a sample'
  }
}]

resource operatesLake 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for operator in operators: {
  scope: lakeStorage::blobs::lake
  name: guid(lakeStorage::blobs::lake.id, operator.principalId, blobReader)
  properties: {
    roleDefinitionId: blobReader
    principalId: operator.principalId
    principalType: operator.principalType
    description: 'openmirror operator: see tables, control documents and history'
  }
}]

resource operatesDeadLetters 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for operator in operators: {
  scope: runtimeStorage::blobs::deadLetters
  name: guid(runtimeStorage::blobs::deadLetters.id, operator.principalId, blobReader)
  properties: {
    roleDefinitionId: blobReader
    principalId: operator.principalId
    principalType: operator.principalType
    description: 'openmirror operator: read dead letters'
  }
}]

resource operatesLandingEvents 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for operator in operators: {
  scope: runtimeStorage::queueService::landingEvents
  name: guid(runtimeStorage::queueService::landingEvents.id, operator.principalId, queueReader)
  properties: {
    roleDefinitionId: queueReader
    principalId: operator.principalId
    principalType: operator.principalType
    description: 'openmirror operator: see whether events wait'
  }
}]

resource operatesLandingEventsPoison 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for operator in operators: {
  scope: runtimeStorage::queueService::landingEventsPoison
  name: guid(runtimeStorage::queueService::landingEventsPoison.id, operator.principalId, queueReader)
  properties: {
    roleDefinitionId: queueReader
    principalId: operator.principalId
    principalType: operator.principalType
    description: 'openmirror operator: see whether events are poison'
  }
}]

resource operatesTableWork 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for operator in operators: {
  scope: runtimeStorage::queueService::tableWork
  name: guid(runtimeStorage::queueService::tableWork.id, operator.principalId, queueReader)
  properties: {
    roleDefinitionId: queueReader
    principalId: operator.principalId
    principalType: operator.principalType
    description: 'openmirror operator: see whether work waits'
  }
}]

resource operatesTableWorkPoison 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for operator in operators: {
  scope: runtimeStorage::queueService::tableWorkPoison
  name: guid(runtimeStorage::queueService::tableWorkPoison.id, operator.principalId, queueReader)
  properties: {
    roleDefinitionId: queueReader
    principalId: operator.principalId
    principalType: operator.principalType
    description: 'openmirror operator: see whether work is poison'
  }
}]

resource reads 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for reader in readers: if (!contains(operatorIds, reader.principalId)) {
  scope: lakeStorage::blobs::lake
  name: guid(lakeStorage::blobs::lake.id, reader.principalId, blobReader)
  properties: {
    roleDefinitionId: blobReader
    principalId: reader.principalId
    principalType: reader.principalType
    description: 'openmirror reader: read the tables'
  }
}]
