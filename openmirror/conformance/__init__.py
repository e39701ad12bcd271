"""`openmirror check`: whether a publisher keeps the protocol.

What a publisher did is evidence (`evidence.py`): what lies in its landing zones (`contents.py`) and
the requests that it sent (`exchanges.py`), read as a history of files (`history.py`). The catalogue
(`catalogue.py`) has each rule as a value, with the function that assesses evidence by it; all of
that is pure. `observing.py` stands in front of an account and writes down what comes.
"""
