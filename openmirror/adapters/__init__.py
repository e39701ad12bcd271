"""What fulfils the ports: each adapter knows one outside world and nothing of the others."""
