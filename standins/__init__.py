"""What stands in for Azure on one machine, for tests and for the demo; never part of the product.

Azurite for queues and blobs, Microsoft's own library for the Functions platform, and what the host
around it does. Storage accounts themselves have a stand-in in the product: `openmirror serve`.
"""
