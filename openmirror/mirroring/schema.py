"""The JSON Schema of mirroring.json: `python -m openmirror.mirroring.schema > FILE` writes it."""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from openmirror.mirroring.document import MirroringDocument

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _ForEditors(GenerateJsonSchema):
    """Without what would only be noise in an editor's suggestions: null, and names of fields."""

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if made.get("default") in (None, {}):
            made.pop("default", None)
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's own
        return False


def schema_text() -> str:
    """The schema as it is published in docs/mirroring.schema.json."""
    schema = MirroringDocument.model_json_schema(schema_generator=_ForEditors)
    return json.dumps({"$schema": DIALECT, **schema}, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
