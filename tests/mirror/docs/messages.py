"""The messages of errors that an operator may meet, as the source has them: `…` stands for what differs."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FOLDERS = ("mirror", "ledger", "network", "contracts", "tokens", "web3sim")
_KINDS = {"OperatorError", "IngestError", "StreamFileError"}
_VARIES = "…"


class Message(NamedTuple):
    place: str
    text: str

    @property
    def words(self) -> int:
        """The number of words that are always the same."""
        return sum(word.strip(".:,()") not in ("", _VARIES) for word in self.text.split())


def messages(root: Path) -> Iterator[Message]:
    """Yield the message of each place that makes an error of these kinds, or of a kind of these."""
    trees = {
        path.relative_to(root): ast.parse(path.read_text())
        for folder in _FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
    }
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    kinds, before = set(_KINDS), 0
    while before < len(kinds):
        before = len(kinds)
        kinds |= {each.name for each in classes if any(_name(base) in kinds for base in each.bases)}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _name(node.func) in kinds:
                yield Message(f"{path}:{node.lineno}", " ".join(_text(each) for each in node.args))


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
