"""What names on disk mean, and what the system's errors about them are called by Azure."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from openmirror.emulator.addresses import Address
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.stores.local.incarnation import INCARNATION_FILE
from openmirror.stores.local.paths import OURS


def is_hidden(name: str, *, is_folder: bool) -> bool:
    """Whether a real account would have nothing of this name: what the local form keeps there."""
    if name.startswith(OURS):
        return True
    return not is_folder and (
        name == INCARNATION_FILE or (name.startswith(".") and name.endswith(".crc"))
    )


@contextmanager
def in_azures_words(address: Address) -> Iterator[None]:
    """Turn the system's errors about an address into Azure's."""
    try:
        yield
    except FileExistsError as error:
        raise RefusedCall(Fault.EXISTS, address.path) from error
    except NotADirectoryError as error:
        raise RefusedCall(Fault.PATH_CONFLICT, address.path) from error
    except FileNotFoundError as error:
        raise RefusedCall(Fault.MISSING, address.path) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise RefusedCall(
                Fault.INVALID_NAME, "a name is longer than this disk allows"
            ) from error
        raise
