// The two identities that act in this deployment. User-assigned, so that their rights are given
// before what carries them is made, and survive its being made anew.

@description('Name of the Function App\'s identity.')
param functionsName string

@description('Name of the runner\'s identity.')
param runnerName string

@description('Region.')
param location string

@description('Tags of both identities.')
param tags object

resource functions 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: functionsName
  location: location
  tags: tags
}

resource runner 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: runnerName
  location: location
  tags: tags
}

@description('Resource id of the Function App\'s identity.')
output functionsId string = functions.id

@description('Client id of the Function App\'s identity: what settings name.')
output functionsClientId string = functions.properties.clientId

@description('Principal id of the Function App\'s identity: what roles are given to.')
output functionsPrincipalId string = functions.properties.principalId

@description('Resource id of the runner\'s identity.')
output runnerId string = runner.id

@description('Client id of the runner\'s identity.')
output runnerClientId string = runner.properties.clientId

@description('Principal id of the runner\'s identity.')
output runnerPrincipalId string = runner.properties.principalId
