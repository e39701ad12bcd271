"""Reading a Delta log through the FileStore port, by replaying it (Delta's PROTOCOL.md)."""

from openmirror.adapters.deltalog.replay import LogReplay

__all__ = ["LogReplay"]
