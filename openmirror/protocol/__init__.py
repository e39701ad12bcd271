"""The open mirroring protocol: pure values and rules, standard library only (docs/PROTOCOL.md)."""
