// The private variant: a network of its own, from which the Function App reaches both accounts
// through private endpoints (endpoints.bicep). A Databricks workspace joins by peering, or by endpoints
// of its own.

@description('Name of the virtual network.')
param name string

@description('Region.')
param location string

@description('Tags of everything in it.')
param tags object

@description('Address space, /24 or larger.')
param addressPrefix string

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

@description('Name of the network, once its zones are linked to it as well.')
output name string = network.name
