"""The cases of the vectors as data; `tests/vectors/build.py` writes them to disk."""
