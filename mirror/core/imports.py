"""Libraries without those parts that the node does not use, which would take it time and memory."""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType


def import_without(library: str, *parts: str) -> None:
    """Import a library as if `parts` were not installed; leave it to a plain import if it needs them."""
    absent = [part for part in parts if part not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    with suppress(ImportError):
        import_module(library)
    for part in absent:
        del sys.modules[part]


def add_bare_package(name: str, file: str, *contents: str) -> None:
    """Register a package without running it. Another name than `contents` fails, naming `file`."""
    if name in sys.modules:
        return
    library, *path = name.split(".")
    spec = find_spec(library)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"the package {library} is missing: install requirements.txt")
    package = sys.modules[name] = ModuleType(name)
    package.__path__ = [str(Path(place, *path)) for place in spec.submodule_search_locations]
    package.__file__ = file
    vars(package).update(dict.fromkeys(contents))
