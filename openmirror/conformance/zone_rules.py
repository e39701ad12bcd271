"""Rules that are assessed by what lies in a landing zone.

What is wrong there is found by the plan's own rules (`operate/validate.py`); here stands which of
its codes belongs to which rule, and what must lie there for the rule to have been tried at all.
"""

from __future__ import annotations

from openmirror.conformance.content_rules import CONTENT_RULES
from openmirror.conformance.folder_rules import FOLDER_RULES
from openmirror.protocol.rules import Code

ZONE_RULES = (*FOLDER_RULES, *CONTENT_RULES)
NOT_OF_PUBLISHERS = frozenset(
    {
        Code.MIRROR_SETTINGS_INVALID,
        Code.APPLY_FAILED,
        Code.RESEED_INCOMPLETE,
        Code.TABLE_NAME_COLLISION,
        Code.TABLE_NAME_INVALID,
        Code.TABLE_NOT_OURS,
        Code.TABLE_LOG_BROKEN,
        Code.TABLE_LOST,
        Code.CONTROL_DOCUMENT_INVALID,
        Code.ACCESS_DENIED,
        Code.FILE_MISPLACED,
        Code.STREAM_TABLE_STOPPED,
        Code.STREAM_DOWN,
        Code.STREAM_RETENTION_SHORT,
        Code.STREAM_SLOT_GROWS,
        Code.NO_ROW_TO_UPDATE,
        Code.COLUMN_NAME_RESERVED,
        Code.CONTROL_DOCUMENT_REBUILT,
        Code.TABLE_SETTING_UNMET,
        Code.CATALOG_REGISTRATION_FAILED,
    }
)
"""Codes that no rule here has: an operator's, or found without them."""
