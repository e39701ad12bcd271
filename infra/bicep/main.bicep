// openmirror in one resource group, but for what holds data: that is data.bicep, and deployed before.
// Wiring only: what is made stands in the modules beside it. Names are made of `name` and the resource
// group, so that a second run finds what the first made, and this finds what data.bicep made.

@description('Name of this deployment, part of every resource\'s name: 3 to 12 lowercase letters and digits, no digit first. Two of them may share a resource group.')
@minLength(3)
@maxLength(12)
param name string = 'openmirror'

@description('Region. It must offer Flex Consumption.')
param location string = resourceGroup().location

@description('Tags of every resource, beside `openmirror`, which holds the name.')
param tags object = {}

@description('Python of the Function App. A package is built for one of them.')
@allowed([
  '3.11'
  '3.12'
  '3.13'
])
param pythonVersion string = '3.13'

@description('Memory of an instance of the Function App, in megabytes.')
@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int = 2048

@description('Instances of the Function App at most.')
@minValue(1)
@maxValue(1000)
param maximumInstances int = 40

@description('Instances of the Function App that always run, for the function that landing events call: none waits for a start then, and they cost as long as they are there (docs/DEPLOY.md).')
@minValue(0)
@maxValue(20)
param alwaysReadyInstances int = 0

@description('Redundancy of both storage accounts.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
  'Standard_GRS'
  'Standard_RAGRS'
  'Standard_GZRS'
])
param storageSku string = 'Standard_LRS'

@description('Further settings of the Function App, OPENMIRROR_* and OTEL_*, by their names: see docs/OPERATIONS.md. Settings that are not named here or by this template are removed.')
param settings object = {}

@description('URL of the Databricks workspace that has the runner\'s job, beginning with https://. Empty: the workspace that is made here, if one is.')
param databricksWorkspaceUrl string = ''

@description('Id of the Databricks job that is the runner. Empty: a runner is always on, and none is started.')
param databricksJobId string = ''

@description('Whether to make a Databricks access connector that carries the runner\'s identity, for Unity Catalog.')
param createAccessConnector bool = true

@description('Whether to make a Databricks workspace, Premium. Not in a private network, where its clusters could not reach the lake: there, bring a workspace that runs in a network of yours.')
param createDatabricksWorkspace bool = false

@description('Who may write into which mirror: a list of {principalId, principalType, mirror}. A principal has one mirror and runs no runner; give each publisher a principal of its own.')
param publishers array = []

@description('GUID of the role that publishers get on their mirror, under a condition. The default is Azure\'s Storage Blob Data Contributor, which may delete the whole container as well; publisher-role.json defines one that may not.')
param publisherRole string = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'

@description('Who operates it: a list of {principalId, principalType}. They read everything, and write the sample of `openmirror azure verify` alone.')
param operators array = []

@description('Who may read the tables: a list of {principalId, principalType}.')
param readers array = []

@description('Further principals that run the runner, such as a virtual machine\'s identity: a list of {principalId, principalType}. The identity made here is one already.')
param runners array = []

@description('Where alerts are mailed to. Empty: they show in the portal only.')
param alertEmail string = ''

@description('Minutes that the oldest file of a table may wait before an alert.')
@minValue(1)
param lagAlertMinutes int = 15

@description('Minutes that a file\'s number may be missing before an alert.')
@minValue(1)
param gapAlertMinutes int = 30

@description('Whether the accounts are reached through private endpoints, and from outside by nobody but Azure\'s trusted services and the allowed addresses.')
param privateNetwork bool = false

@description('Public IPv4 addresses or ranges that a private deployment lets in: publishers, and the machine that deploys.')
param allowedAddresses array = []

@description('Days that deleted files, dead letters and containers can be brought back. They are paid for until then.')
@minValue(1)
@maxValue(365)
param deletedDays int = 7

@description('Days that telemetry is kept.')
@minValue(30)
@maxValue(730)
param logDays int = 30

@description('Gigabytes of telemetry in a day at most. What comes after that is lost, and alerts with it; -1 is no limit.')
@minValue(-1)
param dailyLogGb int = 1

var token = take(uniqueString(resourceGroup().id, name), 6)
var allTags = union(tags, {
  openmirror: name
})
var operatorIds = [for operator in operators: operator.principalId]
var workspaceName = createDatabricksWorkspace && !privateNetwork ? 'dbw-${name}-${token}' : ''

// What data.bicep made. It is looked up here and managed there: nothing of it goes with this.
resource lake 'Microsoft.Storage/storageAccounts@2025-08-01' existing = {
  name: 'st${name}lake${take(token, 4)}'
}

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' existing = {
  name: 'vnet-${name}-${token}'

  resource functionsSubnet 'subnets' existing = {
    name: 'functions'
  }
}

module identities 'identities.bicep' = {
  name: '${name}-identities'
  params: {
    functionsName: 'id-${name}-functions-${token}'
    runnerName: 'id-${name}-runner-${token}'
    location: location
    tags: allTags
  }
}

module runtime 'runtime.bicep' = {
  name: '${name}-runtime'
  params: {
    name: 'st${name}run${take(token, 4)}'
    location: location
    tags: allTags
    sku: storageSku
    privateNetwork: privateNetwork
    allowedAddresses: allowedAddresses
    deletedDays: deletedDays
  }
}

module monitoring 'monitoring.bicep' = {
  name: '${name}-monitoring'
  params: {
    workspaceName: 'log-${name}-${token}'
    insightsName: 'appi-${name}-${token}'
    location: location
    tags: allTags
    logDays: logDays
    dailyLogGb: dailyLogGb
  }
}

module runtimeEndpoints 'endpoints.bicep' = if (privateNetwork) {
  name: '${name}-runtime-endpoints'
  params: {
    prefix: 'pep-${name}'
    account: 'runtime'
    accountId: runtime.outputs.id
    services: [
      'blob'
      'queue'
      'table'
    ]
    location: location
    tags: allTags
    networkName: network.name
  }
}

module databricks 'databricks.bicep' = {
  name: '${name}-databricks'
  params: {
    connectorName: 'dbac-${name}-${token}'
    workspaceName: workspaceName
    location: location
    tags: allTags
    createConnector: createAccessConnector
    identityId: identities.outputs.runnerId
  }
}

module topic 'topic.bicep' = {
  name: '${name}-topic'
  params: {
    name: 'egst-${name}-${token}'
    location: location
    tags: allTags
    sourceId: lake.id
  }
}

module roles 'roles.bicep' = {
  name: '${name}-roles'
  params: {
    lakeAccount: lake.name
    runtimeAccount: runtime.outputs.name
    insightsName: monitoring.outputs.insightsName
    functionsPrincipalId: identities.outputs.functionsPrincipalId
    topicPrincipalId: topic.outputs.principalId
  }
}

module runnerRoles 'runner-roles.bicep' = {
  name: '${name}-runner-roles'
  params: {
    lakeAccount: lake.name
    runtimeAccount: runtime.outputs.name
    insightsName: monitoring.outputs.insightsName
    principalId: identities.outputs.runnerPrincipalId
    principalType: 'ServicePrincipal'
    isOperator: false
  }
}

module furtherRunnerRoles 'runner-roles.bicep' = [for (runner, i) in runners: {
  name: '${name}-runner-roles-${i}'
  params: {
    lakeAccount: lake.name
    runtimeAccount: runtime.outputs.name
    insightsName: monitoring.outputs.insightsName
    principalId: runner.principalId
    principalType: runner.principalType
    isOperator: contains(operatorIds, runner.principalId)
  }
}]

module access 'access.bicep' = {
  name: '${name}-access'
  params: {
    lakeAccount: lake.name
    runtimeAccount: runtime.outputs.name
    publishers: publishers
    publisherRole: publisherRole
    operators: operators
    readers: readers
    runners: runners
  }
}

module functions 'functions.bicep' = {
  name: '${name}-functions'
  params: {
    name: 'func-${name}-${token}'
    planName: 'asp-${name}-${token}'
    location: location
    tags: allTags
    identityId: identities.outputs.functionsId
    identityClientId: identities.outputs.functionsClientId
    pythonVersion: pythonVersion
    instanceMemoryMB: instanceMemoryMB
    maximumInstances: maximumInstances
    alwaysReadyInstances: alwaysReadyInstances
    root: lake.properties.primaryEndpoints.dfs
    blobEndpoint: runtime.outputs.blobEndpoint
    queueEndpoint: runtime.outputs.queueEndpoint
    tableEndpoint: runtime.outputs.tableEndpoint
    deploymentsUrl: runtime.outputs.deploymentsUrl
    insightsConnectionString: monitoring.outputs.connectionString
    databricksHost: empty(databricksWorkspaceUrl) ? databricks.outputs.workspaceUrl : databricksWorkspaceUrl
    databricksJobId: databricksJobId
    settings: settings
    privateNetwork: privateNetwork
    allowedAddresses: allowedAddresses
    subnetId: privateNetwork ? network::functionsSubnet.id : ''
  }
  dependsOn: [
    roles
  ]
}

// After the app, though it needs it not: Azure checks whether the topic may write dead letters, and
// its roles have had the longest time to take hold by then.
module events 'events.bicep' = {
  name: '${name}-events'
  params: {
    topicName: topic.outputs.name
    name: 'landing-events'
    runtimeAccountId: runtime.outputs.id
    queue: runtime.outputs.landingEventsQueue
    deadLettersContainer: runtime.outputs.deadLettersContainer
    landingContainer: 'landing'
  }
  dependsOn: [
    roles
    functions
  ]
}

module diagnostics 'diagnostics.bicep' = {
  name: '${name}-diagnostics'
  params: {
    workspaceId: monitoring.outputs.workspaceId
    lakeAccount: lake.name
    runtimeAccount: runtime.outputs.name
    topicName: topic.outputs.name
    functionApp: functions.outputs.name
    databricksWorkspace: workspaceName
  }
}

module workbook 'workbook.bicep' = {
  name: '${name}-workbook'
  params: {
    name: name
    location: location
    tags: allTags
    workspaceId: monitoring.outputs.workspaceId
  }
}

module alerts 'alerts.bicep' = {
  name: '${name}-alerts'
  params: {
    name: name
    location: location
    tags: allTags
    workspaceId: monitoring.outputs.workspaceId
    systemTopicId: topic.outputs.id
    alertEmail: alertEmail
    lagAlertMinutes: lagAlertMinutes
    gapAlertMinutes: gapAlertMinutes
  }
}

@description('What this deployment is called: its parameter `name`.')
output DEPLOYMENT_NAME string = name

@description('Root of everything that is mirrored.')
output OPENMIRROR_ROOT string = lake.properties.primaryEndpoints.dfs

@description('Queue endpoint of the runtime account.')
output OPENMIRROR_QUEUES string = runtime.outputs.queueEndpoint

@description('Blob endpoint of the runtime account, where dead letters are kept.')
output OPENMIRROR_DEAD_LETTERS string = runtime.outputs.blobEndpoint

@description('Name of the lake account.')
output LAKE_ACCOUNT string = lake.name

@description('Name of the runtime account.')
output RUNTIME_ACCOUNT string = runtime.outputs.name

@description('Name of the Function App.')
output FUNCTION_APP string = functions.outputs.name

@description('URL of the Function App.')
output FUNCTION_APP_URL string = functions.outputs.url

@description('Resource id of the Function App\'s identity.')
output FUNCTIONS_IDENTITY_ID string = identities.outputs.functionsId

@description('Client id of the Function App\'s identity: what Databricks knows it by.')
output FUNCTIONS_CLIENT_ID string = identities.outputs.functionsClientId

@description('Principal id of the Function App\'s identity.')
output FUNCTIONS_PRINCIPAL_ID string = identities.outputs.functionsPrincipalId

@description('Resource id of the runner\'s identity: what a virtual machine is given.')
output RUNNER_IDENTITY_ID string = identities.outputs.runnerId

@description('Client id of the runner\'s identity.')
output RUNNER_CLIENT_ID string = identities.outputs.runnerClientId

@description('Principal id of the runner\'s identity.')
output RUNNER_PRINCIPAL_ID string = identities.outputs.runnerPrincipalId

@description('Name of the Event Grid system topic.')
output SYSTEM_TOPIC string = topic.outputs.name

@description('Name of its event subscription.')
output EVENT_SUBSCRIPTION string = events.outputs.name

@description('Name of the Log Analytics workspace.')
output LOG_WORKSPACE string = monitoring.outputs.workspaceName

@description('Resource id of the Log Analytics workspace.')
output LOG_WORKSPACE_ID string = monitoring.outputs.workspaceId

@description('Name of Application Insights.')
output APPLICATION_INSIGHTS string = monitoring.outputs.insightsName

@description('Where telemetry is sent. No secret: writing takes a role.')
output APPLICATIONINSIGHTS_CONNECTION_STRING string = monitoring.outputs.connectionString

@description('Resource id of the access connector; empty without one.')
output ACCESS_CONNECTOR_ID string = databricks.outputs.connectorId

@description('URL of the Databricks workspace, given or made; empty without one.')
output DATABRICKS_WORKSPACE_URL string = empty(databricksWorkspaceUrl) ? databricks.outputs.workspaceUrl : databricksWorkspaceUrl

@description('Resource id of the workbook.')
output WORKBOOK_ID string = workbook.outputs.workbookId

@description('Resource id of the action group.')
output ACTION_GROUP_ID string = alerts.outputs.actionGroupId

@description('Region.')
output AZURE_LOCATION string = location

@description('Resource group.')
output RESOURCE_GROUP string = resourceGroup().name
