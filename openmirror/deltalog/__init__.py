"""Reading a Delta log through the FileStore port, by replaying it (Delta's PROTOCOL.md)."""

from openmirror.deltalog.data_files import DataFilesReplay
from openmirror.deltalog.past import PastReplay
from openmirror.deltalog.replay import LogReplay

__all__ = ["DataFilesReplay", "LogReplay", "PastReplay"]
