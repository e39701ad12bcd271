"""A local ADLS Gen2 endpoint over a root: the DFS and Blob verbs that real clients need.

Files lie in the root as plain files, where the local form of the product expects them, so that
whoever mirrors the root sees what publishers write through HTTP. What it does not imitate is
listed in docs/ENDPOINT.md.
"""
