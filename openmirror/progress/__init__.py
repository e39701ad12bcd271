"""Everything worth knowing that happens while tables are reconciled, as a closed set of values.

`tables` and `runner` define the events, `union` is the list of all of them.
"""
