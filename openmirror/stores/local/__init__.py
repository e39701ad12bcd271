"""A root that is a folder of this machine."""
