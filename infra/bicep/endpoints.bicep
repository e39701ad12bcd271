// Private endpoints of one storage account in the network of a private deployment, and their names in
// its DNS zones.

@description('Beginning of the endpoints\' names.')
param prefix string

@description('What the account is called in those names.')
param account string

@description('Resource id of the account.')
param accountId string

@description('Services of the account that get an endpoint each: blob, dfs, queue, table.')
param services array

@description('Region.')
param location string

@description('Tags of the endpoints.')
param tags object

@description('Name of the network.')
param networkName string

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' existing = {
  name: networkName

  resource endpointsSubnet 'subnets' existing = {
    name: 'endpoints'
  }
}

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' existing = [for service in services: {
  name: 'privatelink.${service}.${environment().suffixes.storage}'
}]

// One after the other: an account refuses a second one while the first is being made.
@batchSize(1)
resource endpoints 'Microsoft.Network/privateEndpoints@2025-05-01' = [for service in services: {
  name: '${prefix}-${account}-${service}'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: network::endpointsSubnet.id
    }
    privateLinkServiceConnections: [
      {
        name: '${account}-${service}'
        properties: {
          privateLinkServiceId: accountId
          groupIds: [
            service
          ]
        }
      }
    ]
  }
}]

resource zoneGroups 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-05-01' = [for (service, i) in services: {
  parent: endpoints[i]
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: service
        properties: {
          privateDnsZoneId: zones[i].id
        }
      }
    ]
  }
}]
