// The storage account's events. A storage account has one system topic at most. What they are sent
// to is events.bicep; between the two, the topic's identity gets its roles.

@description('Name of the system topic.')
param name string

@description('Region; the one of the lake account.')
param location string

@description('Tags of the topic.')
param tags object

@description('Resource id of the lake account.')
param sourceId string

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' = {
  name: name
  location: location
  tags: tags
  // The topic's own identity is the only one that passes the firewall of a storage account.
  identity: {
    type: 'SystemAssigned'
  }
  properties: {
    source: sourceId
    topicType: 'Microsoft.Storage.StorageAccounts'
  }
}

@description('Resource id of the topic.')
output id string = topic.id

@description('Name of the topic.')
output name string = topic.name

@description('Principal id of the topic\'s identity.')
output principalId string = topic.identity.principalId
