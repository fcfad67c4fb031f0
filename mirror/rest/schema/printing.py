"""The requests of the API as tables, for the page docs/api.md.

`python -m mirror.rest.schema.printing` prints them.
"""

import os
from collections.abc import Iterator

_HEAD = "| Request | What it is for |\n|---|---|"


def as_markdown() -> str:
    """Return a section with a table for each tag of the description."""
    from mirror.rest.schema.description import document

    description = document()
    sections = [
        "\n".join((f"### {tag['name'].capitalize()}", "", tag["description"], "", _HEAD, *_rows(tag["name"])))
        for tag in description["tags"]
    ]
    return "\n\n".join(sections) + "\n"


def _rows(tag: str) -> Iterator[str]:
    from mirror.rest.schema.description import document

    for path, operations in document()["paths"].items():
        for method, operation in operations.items():
            if tag in operation["tags"]:
                yield f"| `{method.upper()} {path}` | {operation['summary']} |"


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    django.setup()
    print(as_markdown(), end="")
