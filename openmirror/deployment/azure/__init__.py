"""Azure Resource Manager behind the ports of ports/management.py, by Azure's own packages."""
