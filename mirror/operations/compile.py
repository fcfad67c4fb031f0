"""`make compile`: make the compiled forms of modules (`mirror.compiled`). This needs a C compiler."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

from mirror import compiled

# Annotations are not taken for types of C, where int is a number of 32 bits.
_DIRECTIVES = {"language_level": 3, "annotation_typing": False}
# Without what a debugger needs, and without warnings about C that is made.
_FLAGS = ["-O2", "-g0", "-w"]


def main() -> None:
    compiled.FOLDER.mkdir(parents=True, exist_ok=True)
    forms = {compiled.form_of(name): name for name in compiled.MODULES}
    stored = set(compiled.FOLDER.glob("*.so"))
    # On the same disk, so that a form appears whole.
    with tempfile.TemporaryDirectory(dir=compiled.FOLDER) as folder:
        for form, made in build(folder, {form: name for form, name in forms.items() if form not in stored}):
            made.replace(form)
    # A process that has loaded an old form goes on with it.
    for form in stored - forms.keys():
        form.unlink()
    print(f"Compiled: {compiled.sentence()}. What runs takes them at its next start.")


def build(folder: str, forms: Mapping[Path, str]) -> Iterator[tuple[Path, Path]]:
    """Yield where the form of each module belongs, and where it is."""
    modules = [
        Extension(name, [str(compiled.source_of(name).relative_to(compiled.ROOT))], extra_compile_args=_FLAGS)
        for name in forms.values()
    ]
    sources = cythonize(modules, build_dir=folder, compiler_directives=_DIRECTIVES, quiet=True)
    command = build_ext(Distribution({"ext_modules": sources}))
    command.build_lib, command.build_temp, command.parallel = folder, folder, True
    command.ensure_finalized()
    command.run()
    for form, name in forms.items():
        yield form, Path(command.get_ext_fullpath(name))


if __name__ == "__main__":
    main()
