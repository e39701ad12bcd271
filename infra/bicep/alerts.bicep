// Who gets a message when something stands still. The queries lie in infra/monitoring/alerts; the headings
// that descriptions name are those of docs/OPERATIONS.md.

@description('Name of the deployment; it begins the names of all rules.')
param name string

@description('Region of the log alert rules.')
param location string

@description('Tags of the rules and of the action group.')
param tags object

@description('Log Analytics workspace that holds the telemetry.')
param workspaceId string

@description('Event Grid system topic of the lake account.')
param systemTopicId string

@description('Where mails go. Empty: alerts are shown in the portal only.')
param alertEmail string

@description('Minutes that the oldest file of a table may wait before the alert.')
param lagAlertMinutes int

@description('Minutes that a number may be missing before the alert.')
param gapAlertMinutes int

var page = 'docs/OPERATIONS.md, Alerts'

var byTable = [
  {
    name: 'Mirror'
    operator: 'Include'
    values: [
      '*'
    ]
  }
  {
    name: 'Table'
    operator: 'Include'
    values: [
      '*'
    ]
  }
]

var byStream = [
  {
    name: 'Mirror'
    operator: 'Include'
    values: [
      '*'
    ]
  }
  {
    name: 'Stream'
    operator: 'Include'
    values: [
      '*'
    ]
  }
]

// An hour is four times as long as a status that does not change is silent.
var rules = [
  {
    name: 'table-paused'
    title: 'a table is paused'
    meaning: 'A problem stops one table until it is mended; every other goes on.'
    section: 'Table paused'
    severity: 1
    window: 'PT1H'
    dimensions: byTable
    query: loadTextContent('../monitoring/alerts/table-paused.kql')
  }
  {
    name: 'table-lags'
    title: 'a table lags'
    meaning: 'The oldest file of a table has waited for more than ${lagAlertMinutes} minutes and is not applied.'
    section: 'Table lags'
    severity: 2
    window: 'PT1H'
    dimensions: byTable
    query: replace(loadTextContent('../monitoring/alerts/table-lags.kql'), '{lagAlertMinutes}', string(lagAlertMinutes))
  }
  {
    name: 'table-gap'
    title: 'a number is missing'
    meaning: 'A table has waited for a missing file for more than ${gapAlertMinutes} minutes.'
    section: 'Gap'
    severity: 2
    window: 'PT1H'
    dimensions: byTable
    query: replace(loadTextContent('../monitoring/alerts/table-gap.kql'), '{gapAlertMinutes}', string(gapAlertMinutes))
  }
  {
    name: 'table-warning'
    title: 'a table has a warning'
    meaning: 'A table goes on, but its status has a warning or asks for a confirmation.'
    section: 'Table warning'
    severity: 3
    window: 'PT1H'
    dimensions: byTable
    query: loadTextContent('../monitoring/alerts/table-warning.kql')
  }
  {
    name: 'stream-down'
    title: 'a database is not landed'
    meaning: 'A stream of a database is not landed any more, or nobody lands it.'
    section: 'Stream down'
    severity: 1
    window: 'PT1H'
    dimensions: byStream
    query: loadTextContent('../monitoring/alerts/stream-down.kql')
  }
  {
    name: 'stream-lags'
    title: 'a database lags'
    meaning: 'Changes of a database wait for more than ${lagAlertMinutes} minutes to be landed, or may soon be lost.'
    section: 'Stream lags'
    severity: 2
    window: 'PT1H'
    dimensions: byStream
    query: replace(loadTextContent('../monitoring/alerts/stream-lags.kql'), '{lagAlertMinutes}', string(lagAlertMinutes))
  }
  {
    name: 'mirror-silent'
    title: 'a mirror is silent'
    meaning: 'No status pass over a mirror for 20 minutes: its landing zone cannot be listed, or nothing runs.'
    section: 'Mirror silent'
    severity: 2
    window: 'P1D'
    dimensions: [
      {
        name: 'Mirror'
        operator: 'Include'
        values: [
          '*'
        ]
      }
    ]
    query: loadTextContent('../monitoring/alerts/mirror-silent.kql')
  }
  {
    name: 'functions-silent'
    title: 'the functions are silent'
    meaning: 'The Function App has sent no telemetry for 15 minutes: it is stopped, not published or cannot send.'
    section: 'Functions silent'
    severity: 2
    window: 'PT30M'
    dimensions: []
    query: loadTextContent('../monitoring/alerts/functions-silent.kql')
  }
  {
    name: 'functions-fail'
    title: 'a function fails'
    meaning: 'One function failed three times or more within half an hour.'
    section: 'Functions fail'
    severity: 2
    window: 'PT30M'
    dimensions: [
      {
        name: 'Function'
        operator: 'Include'
        values: [
          '*'
        ]
      }
    ]
    query: loadTextContent('../monitoring/alerts/functions-fail.kql')
  }
  {
    name: 'dead-letters-waiting'
    title: 'dead letters are waiting'
    meaning: 'Messages were given up (poison, or dead letters of Event Grid) and are kept for a person.'
    section: 'Dead letters waiting'
    severity: 3
    window: 'PT30M'
    dimensions: [
      {
        name: 'Source'
        operator: 'Include'
        values: [
          '*'
        ]
      }
    ]
    query: loadTextContent('../monitoring/alerts/dead-letters-waiting.kql')
  }
  {
    name: 'runner-fails'
    title: 'the runner does not start, or fails'
    meaning: 'A run of the Databricks job was refused, or the last one failed.'
    section: 'Runner fails'
    severity: 2
    window: 'PT30M'
    dimensions: [
      {
        name: 'Outcome'
        operator: 'Include'
        values: [
          '*'
        ]
      }
      {
        name: 'Job'
        operator: 'Include'
        values: [
          '*'
        ]
      }
    ]
    query: loadTextContent('../monitoring/alerts/runner-fails.kql')
  }
]

var topicRules = [
  {
    name: 'events-dropped'
    title: 'events are dropped'
    meaning: 'Event Grid threw events away, dead letters included. No file is lost: the sweep finds it.'
    section: 'Events dropped'
    severity: 2
    metric: 'DroppedEventCount'
    most: 0
  }
  {
    name: 'events-dead-lettered'
    title: 'events are dead-lettered'
    meaning: 'Event Grid gave events up and wrote them into the container dead-letters.'
    section: 'Events dead-lettered'
    severity: 2
    metric: 'DeadLetteredCount'
    most: 0
  }
  {
    name: 'events-not-delivered'
    title: 'events cannot be delivered'
    meaning: 'Attempts to deliver events to the queue fail; Event Grid tries again for a day.'
    section: 'Events not delivered'
    severity: 3
    metric: 'DeliveryAttemptFailCount'
    most: 5
  }
]

resource actionGroup 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: 'ag-${name}'
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: take(name, 12)
    emailReceivers: empty(alertEmail) ? [] : [
      {
        name: 'operator'
        emailAddress: alertEmail
        useCommonAlertSchema: true
      }
    ]
  }
}

resource logRules 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [for rule in rules: {
  name: 'alert-${name}-${rule.name}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: '${name}: ${rule.title}'
    description: '${rule.meaning} What to do: ${page}: ${rule.section}.'
    severity: rule.severity
    enabled: true
    scopes: [
      workspaceId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: rule.window
    criteria: {
      allOf: [
        {
          query: rule.query
          timeAggregation: 'Count'
          dimensions: rule.dimensions
          operator: 'GreaterThan'
          threshold: 0
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    autoMitigate: true
    // The tables of a workspace that was made a minute ago are not there yet.
    skipQueryValidation: true
    actions: {
      actionGroups: [
        actionGroup.id
      ]
      customProperties: {
        page: '${page}: ${rule.section}'
      }
    }
  }
}]

resource metricRules 'Microsoft.Insights/metricAlerts@2018-03-01' = [for rule in topicRules: {
  name: 'alert-${name}-${rule.name}'
  location: 'global'
  tags: tags
  properties: {
    description: '${rule.meaning} What to do: ${page}: ${rule.section}.'
    severity: rule.severity
    enabled: true
    scopes: [
      systemTopicId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: 'events'
          metricNamespace: 'Microsoft.EventGrid/systemTopics'
          metricName: rule.metric
          timeAggregation: 'Total'
          operator: 'GreaterThan'
          threshold: rule.most
        }
      ]
    }
    autoMitigate: true
    actions: [
      {
        actionGroupId: actionGroup.id
        webHookProperties: {
          page: '${page}: ${rule.section}'
        }
      }
    ]
  }
}]

@description('Resource id of the action group that every rule calls.')
output actionGroupId string = actionGroup.id
