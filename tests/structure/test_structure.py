"""The structure of the source: no import cycles, folders and functions of a readable size, a limit of lines.

`limits.toml` has the limits and their exceptions. Whoever raises the number of lines gives the reason in
CHANGELOG.md. Exceptions only become fewer: one that no longer applies fails the test until it is deleted.
"""

import ast
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
LIMITS = tomllib.loads(Path(__file__).with_name("limits.toml").read_text())
EXCEPTIONS = LIMITS["exceptions"]
APPS = ("mirror", "ledger", "contracts", "tokens", "network", "web3sim")

Graph = dict[str, set[str]]


def test_modules_form_no_import_cycles() -> None:
    assert cycles(import_graph()) == sorted(EXCEPTIONS["cycles"])


def test_folders_form_no_import_cycles() -> None:
    """Of what is in a folder, modules and folders, nothing imports each other in a circle."""
    siblings: dict[str, Graph] = {}
    for importing, imported in import_graph().items():
        for other in imported:
            one, two = (path.removesuffix("/__init__.py").split("/") for path in (importing, other))
            depth = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), 0)
            if depth:
                graph = siblings.setdefault("/".join(one[:depth]), {})
                graph.setdefault("/".join(one[: depth + 1]), set()).add("/".join(two[: depth + 1]))
                graph.setdefault("/".join(two[: depth + 1]), set())
    circles = [circle for graph in siblings.values() for circle in cycles(graph)]
    assert [circle for circle in circles if not all(path.endswith(".py") for path in circle)] == []


def test_folders_have_at_most_a_dozen_modules() -> None:
    modules = Counter(PurePosixPath(path).parent for path in sources() if not path.endswith("/__init__.py"))
    crowded = {
        str(folder): count
        for folder, count in modules.items()
        if count > LIMITS["modules"] and folder.name not in LIMITS["lists"]
    }
    assert crowded == {}


def test_functions_are_short() -> None:
    long = [
        name
        for name, function in functions()
        if function.end_lineno and function.end_lineno - function.lineno >= LIMITS["function_lines"]
    ]
    assert sorted(long) == sorted(EXCEPTIONS["long_functions"])


def test_functions_have_few_parameters() -> None:
    wide = [name for name, function in functions() if len(parameters(function)) > LIMITS["parameters"]]
    assert sorted(wide) == sorted(EXCEPTIONS["wide_functions"])


def test_product_has_no_more_lines_than_its_limit() -> None:
    lines = sum((ROOT / path).read_text().count("\n") for path in sources())
    assert lines <= LIMITS["lines"], (
        "Use fewer lines, or raise the limit and give the reason in CHANGELOG.md."
    )


@cache
def sources() -> dict[str, ast.Module]:
    """The modules of the product by path, without migrations and generated code."""
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *APPS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        path: ast.parse((ROOT / path).read_text())
        for path in sorted(set(files.stdout.splitlines()))
        if path.endswith(".py") and not path.endswith("_pb2.py")
        if "/migrations/" not in path and (ROOT / path).exists()
    }


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield f"{path}:{node.name}", node


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    names = [each.arg for each in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    return [name for name in names if name not in ("self", "cls")]


def import_graph() -> Graph:
    """The modules that each module imports, also in functions and for types only."""
    paths = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in sources()}
    return {
        path: {paths[name] for name in imported_names(tree) if name in paths} - {path}
        for path, tree in sources().items()
    }


def imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def cycles(graph: Graph) -> list[list[str]]:
    """The groups of modules that import each other, directly or through modules of the group."""
    graph = without_ends(graph)
    reached = {module: reachable(module, graph) for module in graph}
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in graph
        if module in reached[module]
    }
    return [list(group) for group in sorted(groups)]


def without_ends(graph: Graph) -> Graph:
    """Leave out modules that import none of the rest, or that none of it imports: they are in no cycle."""
    imported = set().union(*graph.values())
    rest = {module: needed & graph.keys() for module, needed in graph.items() if module in imported}
    rest = {module: needed for module, needed in rest.items() if needed}
    return graph if rest == graph else without_ends(rest)


def reachable(module: str, graph: Graph) -> set[str]:
    reached: set[str] = set()
    following = [module]
    while following:
        new = graph[following.pop()] - reached
        reached |= new
        following += new
    return reached


def test_cycles_are_found() -> None:
    graph = {
        "a": {"b", "e"},
        "b": {"c"},
        "c": {"b", "d"},
        "d": {"a"},
        "e": {"f"},
        "f": {"e"},
        "g": {"a"},
        "h": set(),
    }
    assert cycles(graph) == [["a", "b", "c", "d"], ["e", "f"]]
