// Where telemetry goes: one workspace, and Application Insights on top of it.

@description('Name of the Log Analytics workspace.')
param workspaceName string

@description('Name of Application Insights.')
param insightsName string

@description('Region.')
param location string

@description('Tags of both.')
param tags object

@description('Days that telemetry is kept.')
param logDays int

@description('Gigabytes that are taken in a day at most; what comes after that is lost, and alerts with it.')
param dailyLogGb int

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-07-01' = {
  name: workspaceName
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: logDays
    workspaceCapping: {
      dailyQuotaGb: dailyLogGb
    }
    features: {
      disableLocalAuth: true
      enableLogAccessUsingOnlyResourcePermissions: true
    }
  }
}

resource insights 'Microsoft.Insights/components@2020-02-02' = {
  name: insightsName
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    IngestionMode: 'LogAnalytics'
    // The connection string alone lets nobody write: it takes a role, so it is no secret.
    DisableLocalAuth: true
  }
}

@description('Resource id of the workspace.')
output workspaceId string = workspace.id

@description('Name of the workspace.')
output workspaceName string = workspace.name

@description('Name of Application Insights.')
output insightsName string = insights.name

@description('Where telemetry is sent.')
output connectionString string = insights.properties.ConnectionString
