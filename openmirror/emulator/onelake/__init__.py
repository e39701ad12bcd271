"""The local account as OneLake: its host names, a stand-in for Entra ID, and Fabric's own REST.

For one machine and nothing else: it listens on loopback only, and no deployed package has it.
"""
