// What is mirrored, how late, and what stands still: one page of the portal. Its JSON is composed
// from infra/monitoring by `./dev workbook`.

@description('Name of the deployment; it begins the workbook\'s title.')
param name string

@description('Region of the workbook.')
param location string

@description('Tags of the workbook.')
param tags object

@description('Log Analytics workspace that its queries ask, and that it stands under in the portal.')
param workspaceId string

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, name, 'workbook')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: '${name} mirrors'
    description: 'State, lag and problems of every mirrored table.'
    category: 'workbook'
    version: 'Notebook/1.0'
    sourceId: workspaceId
    serializedData: replace(loadTextContent('workbook.json'), '{workspaceId}', workspaceId)
  }
}

@description('Resource id of the workbook.')
output workbookId string = workbook.id
