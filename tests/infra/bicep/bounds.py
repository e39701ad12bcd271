"""Which values a parameter takes."""

from __future__ import annotations

from tests.infra.bicep.syntax import Array, Expression, Number, Parameter, Text


def refusal(parameter: Parameter, value: Expression) -> str | None:
    """Why a value that is written out cannot be a parameter's, or None."""
    match value:
        case Text(value=plain) | Number(value=plain) if plain not in (
            parameter.allowed or (plain,)
        ):
            return f"allows {', '.join(map(str, parameter.allowed or ()))}, not {plain}"
        case Number(value=number):
            return _out_of(parameter, number, "Value", str(number))
        case Text(value=text):
            return _out_of(parameter, len(text), "Length", f"a length of {len(text)}")
        case Array(items=items):
            return _out_of(parameter, len(items), "Length", f"a length of {len(items)}")
        case _:
            return None


def _out_of(parameter: Parameter, number: int, what: str, given: str) -> str | None:
    least, most = parameter.bound(f"min{what}"), parameter.bound(f"max{what}")
    if least is not None and number < least:
        return f"is at least {least}, not {given}"
    if most is not None and number > most:
        return f"is at most {most}, not {given}"
    return None
