// The access connector through which Unity Catalog acts as the runner, and what the workspace that
// data.bicep may have made is reached by.

@description('Name of the access connector.')
param connectorName string

@description('Name of the workspace; empty where none is made.')
param workspaceName string

@description('Region.')
param location string

@description('Tags of the access connector.')
param tags object

@description('Whether an access connector is made.')
param createConnector bool

@description('Resource id of the identity that the access connector carries.')
param identityId string

resource connector 'Microsoft.Databricks/accessConnectors@2024-05-01' = if (createConnector) {
  name: connectorName
  location: location
  tags: tags
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
}

resource workspace 'Microsoft.Databricks/workspaces@2024-05-01' existing = {
  // Azure checks the name also where the conditions below ask nothing of it.
  name: empty(workspaceName) ? 'none' : workspaceName
}

@description('Resource id of the access connector; empty without one.')
output connectorId string = createConnector ? connector.id : ''

@description('URL of the workspace; empty without one.')
output workspaceUrl string = empty(workspaceName) ? '' : 'https://${workspace.properties.workspaceUrl}'
