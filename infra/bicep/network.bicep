// The private variant: a network of its own, from which the Function App reaches both accounts
// through private endpoints. A Databricks workspace joins by peering, or by endpoints of its own.

@description('Name of the virtual network.')
param name string

@description('Region.')
param location string

@description('Tags of everything in it.')
param tags object

@description('Address space, /24 or larger.')
param addressPrefix string

@description('Beginning of the names of the private endpoints.')
param endpointPrefix string

@description('Resource id of the lake account.')
param lakeAccountId string

@description('Resource id of the runtime account.')
param runtimeAccountId string

var octets = split(addressPrefix, '.')
var functionsPrefix = '${octets[0]}.${octets[1]}.${octets[2]}.0/25'
var endpointsPrefix = '${octets[0]}.${octets[1]}.${octets[2]}.128/25'

// The zones' names follow the cloud: privatelink.blob.core.windows.net in the public one.
var services = [
  'blob'
  'dfs'
  'queue'
  'table'
]

var endpoints = [
  {
    name: 'lake-blob'
    accountId: lakeAccountId
    service: 'blob'
    zone: 0
  }
  {
    name: 'lake-dfs'
    accountId: lakeAccountId
    service: 'dfs'
    zone: 1
  }
  {
    name: 'runtime-blob'
    accountId: runtimeAccountId
    service: 'blob'
    zone: 0
  }
  {
    name: 'runtime-queue'
    accountId: runtimeAccountId
    service: 'queue'
    zone: 2
  }
  {
    name: 'runtime-table'
    accountId: runtimeAccountId
    service: 'table'
    zone: 3
  }
]

resource functionsRules 'Microsoft.Network/networkSecurityGroups@2025-05-01' = {
  name: 'nsg-${name}-functions'
  location: location
  tags: tags
  properties: {
    securityRules: [
      {
        name: 'NothingFromOutside'
        properties: {
          description: 'The app reaches out from this subnet; nobody comes in through it.'
          direction: 'Inbound'
          access: 'Deny'
          priority: 4000
          protocol: '*'
          sourceAddressPrefix: 'Internet'
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRange: '*'
        }
      }
    ]
  }
}

resource endpointsRules 'Microsoft.Network/networkSecurityGroups@2025-05-01' = {
  name: 'nsg-${name}-endpoints'
  location: location
  tags: tags
  properties: {
    securityRules: [
      {
        name: 'StorageFromNetwork'
        properties: {
          description: 'Storage speaks https only.'
          direction: 'Inbound'
          access: 'Allow'
          priority: 100
          protocol: 'Tcp'
          sourceAddressPrefix: 'VirtualNetwork'
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRange: '443'
        }
      }
      {
        name: 'NothingElse'
        properties: {
          direction: 'Inbound'
          access: 'Deny'
          priority: 4000
          protocol: '*'
          sourceAddressPrefix: '*'
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRange: '*'
        }
      }
    ]
  }
}

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [
        addressPrefix
      ]
    }
    // Subnets stand inside: as resources of their own they would be taken away, and refused while
    // in use, each time that the network is deployed again.
    subnets: [
      {
        name: 'functions'
        properties: {
          addressPrefix: functionsPrefix
          networkSecurityGroup: {
            id: functionsRules.id
          }
          // Databricks, Application Insights and Entra ID are reached over the internet. Where rules
          // forbid that, a firewall or NAT gateway takes its place.
          defaultOutboundAccess: true
          delegations: [
            {
              name: 'flex'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: endpointsPrefix
          networkSecurityGroup: {
            id: endpointsRules.id
          }
          privateEndpointNetworkPolicies: 'NetworkSecurityGroupEnabled'
        }
      }
    ]
  }

  resource functionsSubnet 'subnets' existing = {
    name: 'functions'
  }

  resource endpointsSubnet 'subnets' existing = {
    name: 'endpoints'
  }
}

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [for service in services: {
  name: 'privatelink.${service}.${environment().suffixes.storage}'
  location: 'global'
  tags: tags
}]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [for (service, i) in services: {
  parent: zones[i]
  name: name
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: {
      id: network.id
    }
  }
}]

// One after the other: an account refuses a second one while the first is being made.
@batchSize(1)
resource privateEndpoints 'Microsoft.Network/privateEndpoints@2025-05-01' = [for endpoint in endpoints: {
  name: '${endpointPrefix}-${endpoint.name}'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: network::endpointsSubnet.id
    }
    privateLinkServiceConnections: [
      {
        name: endpoint.name
        properties: {
          privateLinkServiceId: endpoint.accountId
          groupIds: [
            endpoint.service
          ]
        }
      }
    ]
  }
}]

resource zoneGroups 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-05-01' = [for (endpoint, i) in endpoints: {
  parent: privateEndpoints[i]
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: endpoint.service
        properties: {
          privateDnsZoneId: zones[endpoint.zone].id
        }
      }
    ]
  }
}]

@description('Subnet that the Function App reaches out from.')
output functionsSubnetId string = network::functionsSubnet.id
