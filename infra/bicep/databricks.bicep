// What Databricks needs of Azure: the access connector through which Unity Catalog acts as the
// runner, and a workspace where none is there.

@description('Name of the access connector.')
param connectorName string

@description('Name of the workspace.')
param workspaceName string

@description('Name of the resource group that Databricks makes for the workspace.')
param managedGroupName string

@description('Region.')
param location string

@description('Tags of both.')
param tags object

@description('Whether an access connector is made.')
param createConnector bool

@description('Whether a workspace is made.')
param createWorkspace bool

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

resource workspace 'Microsoft.Databricks/workspaces@2024-05-01' = if (createWorkspace) {
  name: workspaceName
  location: location
  tags: tags
  // checkov:skip=CKV_AZURE_158: behind a private network no workspace is made here
  // checkov:skip=CKV2_AZURE_48: nothing that is mirrored lies in the workspace's own storage
  // Unity Catalog and rights on single jobs need it.
  sku: {
    name: 'premium'
  }
  properties: {
    managedResourceGroupId: subscriptionResourceId('Microsoft.Resources/resourceGroups', managedGroupName)
    publicNetworkAccess: 'Enabled'
    requiredNsgRules: 'AllRules'
    parameters: {
      enableNoPublicIp: {
        value: true
      }
    }
  }
}

@description('Resource id of the access connector; empty without one.')
output connectorId string = createConnector ? connector.id : ''

@description('Name of the workspace; empty without one.')
output workspaceName string = createWorkspace ? workspace.name : ''

@description('URL of the workspace; empty without one.')
#disable-next-line BCP318
output workspaceUrl string = createWorkspace ? 'https://${workspace.properties.workspaceUrl}' : ''
