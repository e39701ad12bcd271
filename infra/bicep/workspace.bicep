// A Databricks workspace, where none is there.

@description('Name of the workspace.')
param name string

@description('Name of the resource group that Databricks makes for the workspace.')
param managedGroupName string

@description('Region.')
param location string

@description('Tags of the workspace.')
param tags object

resource workspace 'Microsoft.Databricks/workspaces@2024-05-01' = {
  name: name
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
