// What Azure itself logs of the parts, into the same workspace. Reads of storage are left out: the
// sweep asks for every table each half minute, and each request would be a row that is paid for.

@description('Resource id of the workspace.')
param workspaceId string

@description('Name of the lake account.')
param lakeAccount string

@description('Name of the runtime account.')
param runtimeAccount string

@description('Name of the system topic.')
param topicName string

@description('Name of the Function App.')
param functionApp string

@description('Name of the Databricks workspace that this deployment made; empty where it made none.')
param databricksWorkspace string

resource lake 'Microsoft.Storage/storageAccounts@2025-08-01' existing = {
  name: lakeAccount

  resource blobs 'blobServices' existing = {
    name: 'default'
  }
}

resource runtime 'Microsoft.Storage/storageAccounts@2025-08-01' existing = {
  name: runtimeAccount

  resource blobs 'blobServices' existing = {
    name: 'default'
  }

  resource queues 'queueServices' existing = {
    name: 'default'
  }
}

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' existing = {
  name: topicName
}

resource app 'Microsoft.Web/sites@2024-11-01' existing = {
  name: functionApp
}

resource databricks 'Microsoft.Databricks/workspaces@2024-05-01' existing = {
  // Azure checks the names also where the condition below leaves the setting out.
  name: empty(databricksWorkspace) ? 'none' : databricksWorkspace
}

// Who wrote and who deleted what: the one question that neither tables nor dead letters can answer.
resource ofLake 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: lake::blobs
  name: 'openmirror'
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageWrite'
        enabled: true
      }
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}

resource ofDeadLetters 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: runtime::blobs
  name: 'openmirror'
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}

// Every message is deleted once it is handled, and by whom.
resource ofQueues 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: runtime::queues
  name: 'openmirror'
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}

resource ofTopic 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: topic
  name: 'openmirror'
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'DeliveryFailures'
        enabled: true
      }
    ]
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

// The host's own log: it speaks also where the app cannot start, and so sends no telemetry.
resource ofApp 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: app
  name: 'openmirror'
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'FunctionAppLogs'
        enabled: true
      }
    ]
  }
}

resource ofDatabricks 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (!empty(databricksWorkspace)) {
  scope: databricks
  name: 'openmirror'
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'jobs'
        enabled: true
      }
      {
        category: 'clusters'
        enabled: true
      }
      {
        category: 'unityCatalog'
        enabled: true
      }
    ]
  }
}
