"""Compiled forms of modules, as far as they can be tested without a C compiler."""

from importlib.machinery import ExtensionFileLoader
from pathlib import Path

import pytest

from mirror import compiled

NAME = "mirror.core.values.timestamp"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The source of NAME in a tree of its own, with no compiled forms."""
    monkeypatch.setattr(compiled, "ROOT", tmp_path)
    monkeypatch.setattr(compiled, "FOLDER", tmp_path / "build")
    compiled.FOLDER.mkdir()
    for name in compiled.MODULES:
        compiled.source_of(name).parent.mkdir(parents=True, exist_ok=True)
        compiled.source_of(name).write_text(f"# {name}")
    return compiled.source_of(NAME)


def test_modules_are_those_of_the_tree() -> None:
    assert [name for name in compiled.MODULES if not compiled.source_of(name).is_file()] == []


def test_a_form_is_found_while_its_source_is_the_same(source: Path) -> None:
    assert compiled.Finder().find_spec(NAME, None) is None

    form = compiled.form_of(NAME)
    form.touch()
    spec = compiled.Finder().find_spec(NAME, None)
    assert spec is not None and spec.origin == str(form)
    assert isinstance(spec.loader, ExtensionFileLoader)

    source.write_text("# changed")
    assert compiled.Finder().find_spec(NAME, None) is None


def test_other_modules_are_left_to_python(source: Path) -> None:
    assert compiled.Finder().find_spec("mirror.urls", None) is None


def test_the_status_says_what_is_compiled(source: Path) -> None:
    assert compiled.sentence() == "no module: `make compile` makes lists of transactions faster"

    for name in compiled.MODULES:
        compiled.form_of(name).touch()
    count = len(compiled.MODULES)
    assert compiled.sentence() == f"{count} of {count} modules"

    source.write_text("# changed")
    assert compiled.sentence() == (
        f"{count - 1} of {count} modules; `make compile` compiles those that have changed since"
    )
