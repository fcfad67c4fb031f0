"""Libraries are imported without a part, and one that needs the part is imported with it."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from mirror.core.imports import add_bare_package, import_without
import_without("library", "part")
import library
"""


def run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({str(folder)!r})\n{program}"],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("code", "part"),
    [("try:\n    import part\nexcept ImportError:\n    part = None", "None"), ("import part", "present")],
    ids=["may lack it", "needs it"],
)
def test_library_is_imported_without_a_part_that_it_may_lack(tmp_path: Path, code: str, part: str) -> None:
    (tmp_path / "library.py").write_text(code)
    (tmp_path / "part.py").write_text("name = 'present'")

    done = run(tmp_path, PROGRAM + "print(getattr(library.part, 'name', None))\nimport part")

    assert (done.stdout, done.stderr) == (f"{part}\n", "")


def test_bare_package_names_the_file_that_has_its_contents(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "__init__.py").write_text("raise SystemExit('it ran')")
    (tmp_path / "library" / "module.py").write_text("value = 7")
    bare = PROGRAM.partition("import_without(")[0] + "add_bare_package('library', 'ours.py', 'known')\n"

    done = run(tmp_path, bare + "from library import known, module\nprint(known, module.value)")
    assert (done.stdout, done.stderr) == ("None 7\n", "")

    done = run(tmp_path, bare + "from library import other")
    assert done.stderr.endswith("ImportError: cannot import name 'other' from 'library' (ours.py)\n")
