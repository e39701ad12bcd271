// The Function App on its own Flex Consumption plan. The platform's roles must be in place before
// it is made: Azure checks its deployment storage then.

@description('Name of the app; at most 32 characters, of which the host makes its id.')
@maxLength(32)
param name string

@description('Name of the plan.')
param planName string

@description('Region.')
param location string

@description('Tags of both.')
param tags object

@description('Resource id of the identity that the app acts with.')
param identityId string

@description('Client id of that identity.')
param identityClientId string

@description('Python that the app runs on.')
param pythonVersion string

@description('Memory of an instance, in megabytes.')
param instanceMemoryMB int

@description('Instances at most.')
param maximumInstances int

@description('Instances that always run, for the function `landing`.')
param alwaysReadyInstances int

@description('Data Lake endpoint of the lake account.')
param root string

@description('Blob endpoint of the runtime account.')
param blobEndpoint string

@description('Queue endpoint of the runtime account.')
param queueEndpoint string

@description('Table endpoint of the runtime account.')
param tableEndpoint string

@description('URL of the container that holds the app\'s package.')
param deploymentsUrl string

@description('Where telemetry is sent.')
param insightsConnectionString string

@description('URL of the Databricks workspace; empty without one.')
param databricksHost string

@description('Id of the Databricks job that is the runner; empty where a runner is always on.')
param databricksJobId string

@description('Further settings, OPENMIRROR_* and OTEL_*.')
param settings object

@description('Whether only the allowed addresses may call it.')
param privateNetwork bool

@description('Public addresses, or ranges of them, that may call it in that case.')
param allowedAddresses array

@description('Subnet that the app reaches out from; empty without a private network.')
param subnetId string

var startsRunner = !empty(databricksJobId) && !empty(databricksHost)

var runnerSettings = startsRunner ? {
  OPENMIRROR_JOB: databricksJobId
  DATABRICKS_HOST: databricksHost
} : {}

// Telemetry that costs more than it shows: a record of each call to storage, and a point of every
// figure each minute. The parameter `settings` may say otherwise.
var thriftySettings = {
  OTEL_PYTHON_DISABLED_INSTRUMENTATIONS: 'azure_sdk,requests,urllib,urllib3,httpx'
  OTEL_METRIC_EXPORT_INTERVAL: '300000'
}

// No FUNCTIONS_WORKER_RUNTIME, FUNCTIONS_EXTENSION_VERSION or WEBSITE_RUN_FROM_PACKAGE: on this
// plan functionAppConfig says all that, and the platform refuses them.
var ownSettings = {
  AzureWebJobsStorage__blobServiceUri: blobEndpoint
  AzureWebJobsStorage__queueServiceUri: queueEndpoint
  AzureWebJobsStorage__tableServiceUri: tableEndpoint
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: identityClientId
  APPLICATIONINSIGHTS_CONNECTION_STRING: insightsConnectionString
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY: 'true'
  AZURE_CLIENT_ID: identityClientId
  OPENMIRROR_ROOT: root
  OPENMIRROR_QUEUES__queueServiceUri: queueEndpoint
  OPENMIRROR_QUEUES__credential: 'managedidentity'
  OPENMIRROR_QUEUES__clientId: identityClientId
  OPENMIRROR_DEAD_LETTERS__blobServiceUri: blobEndpoint
  OPENMIRROR_DEAD_LETTERS__credential: 'managedidentity'
  OPENMIRROR_DEAD_LETTERS__clientId: identityClientId
}

var callers = [for address in allowedAddresses: {
  action: 'Allow'
  ipAddress: contains(address, '/') ? address : '${address}/32'
  name: 'allowed address'
  priority: 100
}]

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  // checkov:skip=CKV_AZURE_225: not every region has zones for this plan, and the sweep makes up for what an outage delays
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  // checkov:skip=CKV_AZURE_78: this plan has no FTP, and its password is switched off below
  // checkov:skip=CKV_AZURE_222: people open the status page, with a key; behind a private network only from the allowed addresses
  // checkov:skip=CKV_AZURE_17: callers show a key or sign in with Entra ID; they hold no certificates
  // checkov:skip=CKV_AZURE_212: the plan starts as many instances as there is work for, from none
  // checkov:skip=CKV_AZURE_213: the plan watches its instances itself, and an alert is raised when the app is silent
  name: name
  location: location
  tags: union(tags, {
    'azd-service-name': 'functions'
  })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: deploymentsUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'python'
        version: pythonVersion
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstances
        // Functions of a queue have instances of their own each, and are named by their function.
        alwaysReady: alwaysReadyInstances == 0 ? [] : [
          {
            name: 'function:landing'
            instanceCount: alwaysReadyInstances
          }
        ]
      }
    }
    // Settings stand in the resource below: whatever else of the app is deployed, they stay.
    siteConfig: {
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      http20Enabled: true
      ipSecurityRestrictions: privateNetwork ? callers : []
      ipSecurityRestrictionsDefaultAction: privateNetwork ? 'Deny' : 'Allow'
      scmIpSecurityRestrictionsUseMain: true
    }
  }
}

// A deployment of settings replaces all of them, so that none is left of an earlier version. One
// that was added by hand goes too: it belongs into the parameter `settings`. Our own ones win.
resource appSettings 'Microsoft.Web/sites/config@2024-11-01' = {
  // What checkov asks of this resource belongs to another kind of the same type: site configuration.
  // checkov:skip=CKV_AZURE_13: HTTP asks for a key; Entra ID in front of it is set up apart: docs/SECURITY.md
  // checkov:skip=CKV_AZURE_63: requests are in Application Insights
  // checkov:skip=CKV_AZURE_65: errors are in Application Insights
  // checkov:skip=CKV_AZURE_66: failed requests are in Application Insights
  // checkov:skip=CKV_AZURE_80: no .NET runs here
  // checkov:skip=CKV_AZURE_88: the app mounts no share; its package lies in a container
  // checkov:skip=CKV_AZURE_222: public access is set at the app itself
  parent: app
  name: 'appsettings'
  properties: union(thriftySettings, settings, ownSettings, runnerSettings)
}

// One after the other: an app that is being changed refuses a second change.
resource noFtpPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
  dependsOn: [
    appSettings
  ]
}

resource noScmPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
  dependsOn: [
    noFtpPassword
  ]
}

@description('Resource id of the app.')
output id string = app.id

@description('Name of the app.')
output name string = app.name

@description('URL of the app.')
output url string = 'https://${app.properties.defaultHostName}'
