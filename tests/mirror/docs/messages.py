"""The messages of errors that an operator may meet, as the source has them: `…` stands for what differs."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FOLDERS = ("mirror", "ledger", "network", "contracts", "tokens", "web3sim")
# A class, or a function that makes one of them.
_KINDS = {"OperatorError", "IngestError", "StreamFileError", "damaged"}
# The argument that such a function adds.
_CURES = {"damaged": [ast.Constant("Fetch it again, or from another node.")]}
_VARIES = "…"
_CLASS = re.compile(r"^class (\w+)\(([^)]*)\):", re.M)


class Message(NamedTuple):
    paths: str
    text: str

    @property
    def words(self) -> int:
        """The number of words that are always the same."""
        return sum(word.strip(".:,()") not in ("", _VARIES) for word in self.text.split())


@cache
def messages(root: Path) -> list[Message]:
    """Return the message of each place that makes an error of these kinds, or of a kind of these."""
    sources = {
        path.relative_to(root): path.read_text()
        for folder in _FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
    }
    classes = [found for source in sources.values() for found in _CLASS.findall(source)]
    kinds, before = set(_KINDS), 0
    while before < len(kinds):
        before = len(kinds)
        kinds |= {name for name, bases in classes if kinds & set(re.findall(r"\w+", bases))}
    made = re.compile(rf"\b(?:{'|'.join(kinds)})\(")
    # Reading a file takes a thousandth of the time of parsing it.
    return [
        Message(
            f"{path}:{node.lineno}", " ".join(map(_text, [*node.args, *_CURES.get(_name(node.func), ())]))
        )
        for path, source in sources.items()
        if made.search(source)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and _name(node.func) in kinds
    ]


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return _VARIES
