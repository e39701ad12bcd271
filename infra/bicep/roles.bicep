// What the Function App and Event Grid may do, each at the narrowest scope that works. The runner's
// rights are in runner-roles.bicep, those of people and publishers in access.bicep.

@description('Name of the lake account.')
param lakeAccount string

@description('Name of the runtime account.')
param runtimeAccount string

@description('Name of Application Insights.')
param insightsName string

@description('Principal id of the Function App\'s identity.')
param functionsPrincipalId string

@description('Principal id of the system topic\'s identity.')
param topicPrincipalId string

var blobOwner = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b')
var blobContributor = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'ba92f5b4-2d11-453d-a403-e96b0029c9fe')
var queueContributor = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '974c5e8b-45b9-4653-ba55-5f855dd0fb88')
var queueSender = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a')
var tableContributor = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3')
var metricsPublisher = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '3913510d-42f4-4e42-8a64-420c390055eb')

var blob = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs'
var writesNothing = '!(ActionMatches{\'${blob}/write\'}) AND !(ActionMatches{\'${blob}/add/action\'}) AND !(ActionMatches{\'${blob}/delete\'}) AND !(ActionMatches{\'${blob}/move/action\'})'
// `*` matches slashes too. With the second half, what comes before is a mirror's name and no more.
var inMirrorsControlFolder = '@Resource[${blob}:path] StringLike \'*/_openmirror/*\' AND @Resource[${blob}:path] StringNotLike \'*/*/_openmirror/*\''
// No mirror's name begins with an underscore: what lies there says when the root was swept.
var inRootsControlFolder = '@Resource[${blob}:path] StringLike \'_openmirror/*\''

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

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

// The Function App.

resource functionsOnLanding 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: lakeStorage::blobs::landing
  name: guid(lakeStorage::blobs::landing.id, functionsPrincipalId, blobContributor)
  properties: {
    roleDefinitionId: blobContributor
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror functions: read files for the event filter, move applied ones to the archive, delete old ones, write status files'
  }
}

resource functionsControlLake 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: lakeStorage::blobs::lake
  name: guid(lakeStorage::blobs::lake.id, functionsPrincipalId, blobContributor)
  properties: {
    roleDefinitionId: blobContributor
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    conditionVersion: '2.0'
    condition: '((${writesNothing}) OR (${inMirrorsControlFolder}) OR (${inRootsControlFolder}))'
    description: 'openmirror functions: read Delta logs, write control documents and delete dropped tables below _openmirror; no table can be written'
  }
}

resource functionsOnLandingEvents 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage::queueService::landingEvents
  name: guid(runtimeStorage::queueService::landingEvents.id, functionsPrincipalId, queueContributor)
  properties: {
    roleDefinitionId: queueContributor
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror functions: take events, requeue dead letters'
  }
}

resource functionsOnLandingEventsPoison 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage::queueService::landingEventsPoison
  name: guid(runtimeStorage::queueService::landingEventsPoison.id, functionsPrincipalId, queueContributor)
  properties: {
    roleDefinitionId: queueContributor
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror functions: dead-letter events that cannot be handled, and keep them'
  }
}

resource functionsOnTableWork 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage::queueService::tableWork
  name: guid(runtimeStorage::queueService::tableWork.id, functionsPrincipalId, queueContributor)
  properties: {
    roleDefinitionId: queueContributor
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror functions: wake up tables, see whether there is work, requeue dead letters'
  }
}

resource functionsOnTableWorkPoison 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage::queueService::tableWorkPoison
  name: guid(runtimeStorage::queueService::tableWorkPoison.id, functionsPrincipalId, queueContributor)
  properties: {
    roleDefinitionId: queueContributor
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror functions: keep what the runner gave up as dead letters'
  }
}

resource functionsOnDeadLetters 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage::blobs::deadLetters
  name: guid(runtimeStorage::blobs::deadLetters.id, functionsPrincipalId, blobContributor)
  properties: {
    roleDefinitionId: blobContributor
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror functions: keep dead letters, collect what Event Grid could not deliver'
  }
}

resource functionsOnHostBlobs 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage
  name: guid(runtimeStorage.id, functionsPrincipalId, blobOwner)
  properties: {
    roleDefinitionId: blobOwner
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror functions: the host makes its own containers here and reads the app\'s package; no data lies in this account'
  }
}

resource functionsOnHostTables 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage
  name: guid(runtimeStorage.id, functionsPrincipalId, tableContributor)
  properties: {
    roleDefinitionId: tableContributor
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror functions: the host writes its diagnostic events to tables that it makes'
  }
}

resource functionsTelemetry 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: insights
  name: guid(insights.id, functionsPrincipalId, metricsPublisher)
  properties: {
    roleDefinitionId: metricsPublisher
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror functions: telemetry without a key'
  }
}

// The system topic.

resource topicSends 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage::queueService::landingEvents
  name: guid(runtimeStorage::queueService::landingEvents.id, topicPrincipalId, queueSender)
  properties: {
    roleDefinitionId: queueSender
    principalId: topicPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror events: deliver them'
  }
}

resource topicOnDeadLetters 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: runtimeStorage::blobs::deadLetters
  name: guid(runtimeStorage::blobs::deadLetters.id, topicPrincipalId, blobContributor)
  properties: {
    roleDefinitionId: blobContributor
    principalId: topicPrincipalId
    principalType: 'ServicePrincipal'
    description: 'openmirror events: keep what cannot be delivered'
  }
}
