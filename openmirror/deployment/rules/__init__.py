"""What a deployment on Azure must be like: facts in, findings out. Pure."""
