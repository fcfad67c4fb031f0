"""The table of settings as `manage.py settings` prints it and as docs/settings.md shows it."""

import textwrap
from collections.abc import Mapping
from typing import Any

from mirror.core.config import load
from mirror.core.config.settings import SETTINGS


def as_text(values: Mapping[str, Any]) -> str:
    """Return the table for a terminal, with the values in force where they differ from the defaults."""
    defaults = load({})
    entries = []
    for setting in SETTINGS:
        lines = [setting.property_name, f"    {setting.variable}={setting.default_text}"]
        if values[setting.name] != defaults[setting.name]:
            now = "(secret)" if setting.secret else values[setting.name]
            lines.append(f"    now: {now}")
        lines += textwrap.wrap(
            setting.explanation,
            100,
            initial_indent=" " * 4,
            subsequent_indent=" " * 4,
            break_on_hyphens=False,
        )
        entries.append("\n".join(lines))
    return "\n\n".join(entries)


def as_markdown() -> str:
    rows = "".join(
        f"| `{setting.property_name}`<br>`{setting.variable}` "
        f"| {f'`{setting.default_text}`' if setting.default_text else ''} "
        f"| {setting.explanation.replace('|', '&#124;')} |\n"
        for setting in SETTINGS
    )
    return (
        "# Settings\n\n"
        "Each setting is read from the environment variable below its name. `manage.py settings` prints them "
        "with\nthe values in force; a value that can't be used ends every command with a sentence that says "
        "why.\n\n"
        f"| Name, variable | Default | Meaning |\n|---|---|---|\n{rows}"
    )
