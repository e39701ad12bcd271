// What holds data, and all that it is reached by: the lake account, a Databricks workspace where one is
// made, and the network of a private deployment. It is a deployment stack of its own, whose resources
// nobody can delete by accident and which lets go of them when it is deleted: docs/DEPLOY.md.
// Everything else is main.bicep, which finds these by their names.

@description('Name of this deployment, part of every resource\'s name: 3 to 12 lowercase letters and digits, no digit first. Two of them may share a resource group.')
@minLength(3)
@maxLength(12)
param name string = 'openmirror'

@description('Region. It must offer Flex Consumption.')
param location string = resourceGroup().location

@description('Tags of every resource, beside `openmirror`, which holds the name.')
param tags object = {}

@description('Redundancy of both storage accounts.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
  'Standard_GRS'
  'Standard_RAGRS'
  'Standard_GZRS'
])
param storageSku string = 'Standard_LRS'

@description('Whether to make a Databricks workspace, Premium. Not in a private network, where its clusters could not reach the lake: there, bring a workspace that runs in a network of yours.')
param createDatabricksWorkspace bool = false

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

var token = take(uniqueString(resourceGroup().id, name), 6)
var allTags = union(tags, {
  openmirror: name
})

module lake 'lake.bicep' = {
  name: '${name}-lake'
  params: {
    name: 'st${name}lake${take(token, 4)}'
    location: location
    tags: allTags
    sku: storageSku
    privateNetwork: privateNetwork
    allowedAddresses: allowedAddresses
    deletedDays: deletedDays
  }
}

module workspace 'workspace.bicep' = if (createDatabricksWorkspace && !privateNetwork) {
  name: '${name}-workspace'
  params: {
    name: 'dbw-${name}-${token}'
    managedGroupName: 'rg-dbw-${name}-${token}'
    location: location
    tags: allTags
  }
}

module network 'network.bicep' = if (privateNetwork) {
  name: '${name}-network'
  params: {
    name: 'vnet-${name}-${token}'
    location: location
    tags: allTags
    addressPrefix: addressPrefix
  }
}

module lakeEndpoints 'endpoints.bicep' = if (privateNetwork) {
  name: '${name}-lake-endpoints'
  params: {
    prefix: 'pep-${name}'
    account: 'lake'
    accountId: lake.outputs.id
    services: [
      'blob'
      'dfs'
    ]
    location: location
    tags: allTags
    #disable-next-line BCP318
    networkName: network.outputs.name
  }
}

@description('Root of everything that is mirrored.')
output OPENMIRROR_ROOT string = lake.outputs.dfsEndpoint

@description('Name of the lake account.')
output LAKE_ACCOUNT string = lake.outputs.name
