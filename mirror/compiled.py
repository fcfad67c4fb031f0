"""Compiled forms: machine code of modules for this Python, made by `make compile`; all works without them.

A form is loaded in place of its module only while its name has the SHA-256 of the module's source, so that
none outlives a change.
"""

import hashlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
# The forms of each kind of Python have a folder of their own.
FOLDER = ROOT / "build" / EXTENSION_SUFFIXES[0].split(".")[1]

#: Modules whose functions run for each value or row of an answer. Those of views, statements and loading run
#: no faster: they mostly call others and read messages, which Python does as fast.
MODULES = (
    "mirror.core.values.alias",
    "mirror.core.values.entity_id",
    "mirror.core.values.hashes",
    "mirror.core.values.hexadecimal",
    "mirror.core.values.keys",
    "mirror.core.values.log_bloom",
    "mirror.core.values.timestamp",
    "mirror.core.values.transaction_id",
    "mirror.core.values.hapi.result_codes",
    "mirror.core.values.hapi.transaction_types",
    "mirror.core.values.hapi.wire",
    "ledger.api.transactions",
    "contracts.api.formats",
    "contracts.api.result_json",
)
_MODULES = frozenset(MODULES)


class Finder(MetaPathFinder):
    """Finds the compiled forms of modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _MODULES or not (form := form_of(name)).exists():
            return None
        return spec_from_file_location(name, form, loader=ExtensionFileLoader(name, str(form)))


def install() -> None:
    """Load compiled forms from now on, where there are any."""
    if FOLDER.is_dir():
        sys.meta_path.insert(0, Finder())


def source_of(name: str) -> Path:
    return ROOT.joinpath(*name.split(".")).with_suffix(".py")


def form_of(name: str) -> Path:
    """Return where the compiled form of a module lies, if it has one."""
    digest = hashlib.sha256(source_of(name).read_bytes()).hexdigest()
    return FOLDER / f"{name}.{digest}.so"


def sentence() -> str:
    """Return how many modules are compiled."""
    count = sum(form_of(name).exists() for name in MODULES)
    if not count:
        return "no module: `make compile` makes lists of transactions faster"
    changed = "" if count == len(MODULES) else "; `make compile` compiles those that have changed since"
    return f"{count} of {len(MODULES)} modules{changed}"
