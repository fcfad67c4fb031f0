"""No module of the product reads data by what could run code in it."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ("contracts", "ledger", "mirror", "network", "tokens", "web3sim")

_MODULES = {"cloudpickle", "dill", "joblib", "jsonpickle", "marshal", "pickle", "shelve"}
_CALLS = {"eval", "exec"}
# Of yaml only what writes.
_YAML = {"CSafeDumper", "dump"}

#: Modules that compile Python from text of the program.
COMPILING = {
    # Functions that write JSON, from the names of columns in the code.
    "mirror/core/rest/answers/records.py": {"exec"},
    # EVM code as Python: names and numbers come from the parsed code, and no text of it.
    "web3sim/engine/translation/code_blocks.py": {"exec"},
    "web3sim/engine/translation/programs.py": {"exec"},
    "web3sim/engine/translation/runtime.py": {"eval"},
}


def uses(tree: ast.Module) -> Iterator[str]:
    """Yield what a module uses of the modules and functions that could run code in data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.partition(".")[0] in _MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.partition(".")[0] in _MODULES | {"yaml"}:
                yield node.module
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
            yield node.func.id
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "yaml" and node.attr not in _YAML:
            yield f"yaml.{node.attr}"


def test_no_module_of_the_product_runs_code_from_data() -> None:
    found: dict[str, set[str]] = {}
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if used := set(uses(ast.parse(path.read_text()))):
                found[path.relative_to(ROOT).as_posix()] = used

    assert found == COMPILING
