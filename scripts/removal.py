"""What removing a deployment takes away, and what is in its way; scripts/remove.sh runs this.

It reads `[stacks, locks]` as az lists them, and is given the deployment's name and whether the data
goes too, `yes` or `no`. It prints a line for each resource. The exit code is 3 where nothing is to
go, and 4 where something is in the way.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

NOTHING, IN_THE_WAY = 3, 4
_LOCKS = "/providers/microsoft.authorization/locks"


@dataclass(frozen=True)
class Removal:
    """The stacks of a group, by name, with the ids of what each manages."""

    stacks: Mapping[str, Sequence[str]]
    name: str
    with_data: bool

    @property
    def ours(self) -> list[str]:
        """The deployment's stacks that are there."""
        return [one for one in (self.name, f"{self.name}-data") if one in self.stacks]

    @property
    def gone(self) -> list[str]:
        """Those of them that go."""
        return [one for one in self.ours if one == self.name or self.with_data]

    def managed(self, stacks: Sequence[str]) -> list[str]:
        """What these stacks manage, each resource once."""
        found = {at.lower(): at for one in stacks for at in self.stacks[one]}
        return sorted(found.values(), key=shown)

    def shared(self) -> Iterator[str]:
        """What goes, and belongs to a stack that stays as well."""
        going = {at.lower() for at in self.managed(self.gone)}
        for other in sorted(self.stacks.keys() - set(self.gone)):
            for at in self.managed([other]):
                if at.lower() in going:
                    yield (
                        f"the stack {other} has this too, and would lose it: {shown(at)}. Delete "
                        "the stack that is to go with --action-on-unmanage detachAll (--help), "
                        "then by hand what is its own"
                    )

    def locked(self, locks: Sequence[Mapping[str, str]]) -> Iterator[str]:
        """Locks on what goes, on what that is in, or on what is in it."""
        going = [at.lower() for at in self.managed(self.gone)]
        for lock in locks:
            scope = lock["id"].lower().partition(_LOCKS)[0]
            if any(f"{at}/".startswith(f"{scope}/") or scope.startswith(f"{at}/") for at in going):
                yield (
                    f"a lock ({lock['level']}) is in the way. If it may go: "
                    f"az lock delete --ids {lock['id']}"
                )


def shown(identity: str) -> str:
    """A resource by its type and name; a role, or a log setting, with what it is on."""
    above, _, own = identity.rpartition("/providers/")
    parts = own.split("/")
    about = f" on {above.rpartition('/')[2]}" if "/providers/" in above else ""
    return f"{'/'.join([parts[0], *parts[1::2]])} {'/'.join(parts[2::2])}{about}"


def report(text: str) -> None:
    """A line for whoever removes it."""
    sys.stderr.write(f"remove: {text}\n")


def main(name: str, with_data: str) -> int:
    """Print what goes and what stays; returns the exit code."""
    found, locks = json.load(sys.stdin)
    stacks = {one["name"]: [at for at in one["resources"] or () if at] for one in found}
    removal = Removal(stacks, name, with_data == "yes")
    if not removal.gone:
        there = ", ".join(sorted(stacks)) or "none"
        report(
            f"nothing but data is left of {name}; --with-data deletes it too"
            if removal.ours
            else f"there is no stack {name} in this group; there are: {there}"
        )
        return NOTHING
    for verb, which in (
        ("delete", removal.gone),
        ("keep", [one for one in removal.ours if one not in removal.gone]),
    ):
        for at in removal.managed(which):
            sys.stdout.write(f"{verb:8}{shown(at)}\n")
    sys.stdout.flush()
    hindrances = [*removal.locked(locks), *removal.shared()]
    for each in hindrances:
        report(each)
    return IN_THE_WAY if hindrances else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
