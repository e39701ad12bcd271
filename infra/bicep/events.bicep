// Which events go to the queue, and where those go that cannot be delivered.

@description('Name of the system topic.')
param topicName string

@description('Name of the event subscription.')
param name string

@description('Resource id of the account that has the queue and the container of dead letters.')
param runtimeAccountId string

@description('Queue that events are delivered to.')
param queue string

@description('Container of what could not be delivered.')
param deadLettersContainer string

@description('Container whose events are delivered.')
param landingContainer string

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' existing = {
  name: topicName
}

resource landingEvents 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: name
  properties: {
    // Filters by subject are documented for this schema only, and the app reads both.
    eventDeliverySchema: 'EventGridSchema'
    filter: {
      includedEventTypes: [
        'Microsoft.Storage.BlobCreated'
        'Microsoft.Storage.BlobRenamed'
        'Microsoft.Storage.BlobDeleted'
        'Microsoft.Storage.DirectoryCreated'
        'Microsoft.Storage.DirectoryRenamed'
        'Microsoft.Storage.DirectoryDeleted'
      ]
      subjectBeginsWith: '/blobServices/default/containers/${landingContainer}/blobs/'
      isSubjectCaseSensitive: true
      // What the app and relays write would only wake it up: the archive, status files, how streams are.
      advancedFilters: [
        {
          operatorType: 'StringNotContains'
          key: 'subject'
          values: [
            '/_ProcessedFiles'
            '/Files/Monitoring/'
            '/_streams/'
          ]
        }
      ]
    }
    deliveryWithResourceIdentity: {
      identity: {
        type: 'SystemAssigned'
      }
      destination: {
        endpointType: 'StorageQueue'
        properties: {
          resourceId: runtimeAccountId
          queueName: queue
          // A week: the sweep has long seen the file, and a stopped app comes back to no flood.
          queueMessageTimeToLiveInSeconds: 604800
        }
      }
    }
    deadLetterWithResourceIdentity: {
      identity: {
        type: 'SystemAssigned'
      }
      deadLetterDestination: {
        endpointType: 'StorageBlob'
        properties: {
          resourceId: runtimeAccountId
          blobContainerName: deadLettersContainer
        }
      }
    }
    // A day: as long as Event Grid allows.
    retryPolicy: {
      maxDeliveryAttempts: 30
      eventTimeToLiveInMinutes: 1440
    }
  }
}

@description('Name of the event subscription.')
output name string = landingEvents.name
