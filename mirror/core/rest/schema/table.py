"""The requests of the API as tables, for the page docs/api.md.

`python -m mirror.core.rest.schema.table` prints them.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from mirror.core import config

_HEAD = "| Request | What it is for |\n|---|---|"


def as_markdown() -> str:
    """Return a section with a table for each tag of the description, with endpoints that are switched off."""
    from mirror.core.rest.schema.description import document, switches

    with config.overridden(dict.fromkeys(switches().values(), True)):
        description = document()
    sections = [
        "\n".join(
            (
                f"### {tag['name'].capitalize()}",
                "",
                tag["description"],
                "",
                _HEAD,
                *_rows(description, tag["name"], switches()),
            )
        )
        for tag in description["tags"]
    ]
    return "\n\n".join(sections) + "\n"


def _rows(description: Mapping[str, Any], tag: str, switches: Mapping[str, str]) -> Iterator[str]:
    for path, operations in description["paths"].items():
        switch = f" (with `{switches[path]}`)" if path in switches else ""
        for method, operation in operations.items():
            if tag in operation["tags"]:
                yield f"| `{method.upper()} {path}` | {operation['summary']}{switch} |"


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    django.setup()
    print(as_markdown(), end="")
