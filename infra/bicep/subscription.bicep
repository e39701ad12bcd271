// openmirror with a resource group of its own: what azd deploys, or `az deployment sub create`.
// Parameters are those of data.bicep and main.bicep, outputs those of main.bicep.

targetScope = 'subscription'

@description('Name of the resource group. It is made where it is missing.')
@maxLength(90)
param resourceGroupName string

@description('Name of this deployment, part of every resource\'s name: 3 to 12 lowercase letters and digits, no digit first. Two of them may share a resource group.')
@minLength(3)
@maxLength(12)
param name string = 'openmirror'

@description('Region. It must offer Flex Consumption.')
param location string

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

@description('Address space of the private network, /24 or larger; none that it will be peered with.')
param addressPrefix string = '10.90.0.0/16'

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

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: resourceGroupName
  location: location
  tags: tags // and not `openmirror`: policies hand a group's tags down to what others put there
}

module data 'data.bicep' = {
  name: '${name}-data'
  scope: group
  params: {
    name: name
    location: location
    tags: tags
    storageSku: storageSku
    createDatabricksWorkspace: createDatabricksWorkspace
    privateNetwork: privateNetwork
    addressPrefix: addressPrefix
    allowedAddresses: allowedAddresses
    deletedDays: deletedDays
  }
}

module main 'main.bicep' = {
  name: name
  scope: group
  params: {
    name: name
    location: location
    tags: tags
    pythonVersion: pythonVersion
    instanceMemoryMB: instanceMemoryMB
    maximumInstances: maximumInstances
    alwaysReadyInstances: alwaysReadyInstances
    storageSku: storageSku
    settings: settings
    databricksWorkspaceUrl: databricksWorkspaceUrl
    databricksJobId: databricksJobId
    createAccessConnector: createAccessConnector
    createDatabricksWorkspace: createDatabricksWorkspace
    publishers: publishers
    publisherRole: publisherRole
    operators: operators
    readers: readers
    runners: runners
    alertEmail: alertEmail
    lagAlertMinutes: lagAlertMinutes
    gapAlertMinutes: gapAlertMinutes
    privateNetwork: privateNetwork
    allowedAddresses: allowedAddresses
    deletedDays: deletedDays
    logDays: logDays
    dailyLogGb: dailyLogGb
  }
  dependsOn: [
    data
  ]
}

@description('What this deployment is called: its parameter `name`.')
output DEPLOYMENT_NAME string = main.outputs.DEPLOYMENT_NAME

@description('Root of everything that is mirrored.')
output OPENMIRROR_ROOT string = main.outputs.OPENMIRROR_ROOT

@description('Queue endpoint of the runtime account.')
output OPENMIRROR_QUEUES string = main.outputs.OPENMIRROR_QUEUES

@description('Blob endpoint of the runtime account, where dead letters are kept.')
output OPENMIRROR_DEAD_LETTERS string = main.outputs.OPENMIRROR_DEAD_LETTERS

@description('Name of the lake account.')
output LAKE_ACCOUNT string = main.outputs.LAKE_ACCOUNT

@description('Name of the runtime account.')
output RUNTIME_ACCOUNT string = main.outputs.RUNTIME_ACCOUNT

@description('Name of the Function App.')
output FUNCTION_APP string = main.outputs.FUNCTION_APP

@description('URL of the Function App.')
output FUNCTION_APP_URL string = main.outputs.FUNCTION_APP_URL

@description('Resource id of the Function App\'s identity.')
output FUNCTIONS_IDENTITY_ID string = main.outputs.FUNCTIONS_IDENTITY_ID

@description('Client id of the Function App\'s identity: what Databricks knows it by.')
output FUNCTIONS_CLIENT_ID string = main.outputs.FUNCTIONS_CLIENT_ID

@description('Principal id of the Function App\'s identity.')
output FUNCTIONS_PRINCIPAL_ID string = main.outputs.FUNCTIONS_PRINCIPAL_ID

@description('Resource id of the runner\'s identity: what a virtual machine is given.')
output RUNNER_IDENTITY_ID string = main.outputs.RUNNER_IDENTITY_ID

@description('Client id of the runner\'s identity.')
output RUNNER_CLIENT_ID string = main.outputs.RUNNER_CLIENT_ID

@description('Principal id of the runner\'s identity.')
output RUNNER_PRINCIPAL_ID string = main.outputs.RUNNER_PRINCIPAL_ID

@description('Name of the Event Grid system topic.')
output SYSTEM_TOPIC string = main.outputs.SYSTEM_TOPIC

@description('Name of its event subscription.')
output EVENT_SUBSCRIPTION string = main.outputs.EVENT_SUBSCRIPTION

@description('Name of the Log Analytics workspace.')
output LOG_WORKSPACE string = main.outputs.LOG_WORKSPACE

@description('Resource id of the Log Analytics workspace.')
output LOG_WORKSPACE_ID string = main.outputs.LOG_WORKSPACE_ID

@description('Name of Application Insights.')
output APPLICATION_INSIGHTS string = main.outputs.APPLICATION_INSIGHTS

@description('Where telemetry is sent. No secret: writing takes a role.')
output APPLICATIONINSIGHTS_CONNECTION_STRING string = main.outputs.APPLICATIONINSIGHTS_CONNECTION_STRING

@description('Resource id of the access connector; empty without one.')
output ACCESS_CONNECTOR_ID string = main.outputs.ACCESS_CONNECTOR_ID

@description('URL of the Databricks workspace, given or made; empty without one.')
output DATABRICKS_WORKSPACE_URL string = main.outputs.DATABRICKS_WORKSPACE_URL

@description('Resource id of the workbook.')
output WORKBOOK_ID string = main.outputs.WORKBOOK_ID

@description('Resource id of the action group.')
output ACTION_GROUP_ID string = main.outputs.ACTION_GROUP_ID

@description('Region.')
output AZURE_LOCATION string = main.outputs.AZURE_LOCATION

@description('Resource group.')
output RESOURCE_GROUP string = main.outputs.RESOURCE_GROUP
