"""What is deployed, as code; nothing of it runs in Azure as Python."""
