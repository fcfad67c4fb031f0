"""`manage.py settings`: print every setting with its variable, default, range and meaning."""

from typing import Any

from mirror.core import config
from mirror.core.config.table import as_markdown, as_text
from mirror.management.command import NodeCommand, argument


class Command(NodeCommand):
    help = (
        "Print every setting with the value in force. For each: its environment variable, default, range and "
        "meaning."
    )
    when = "Use it to find a setting, and to see what the node makes of your variables."
    examples = (
        ("settings", "All settings."),
        ("settings --format markdown", "The page of settings in the documentation."),
    )
    arguments = (
        argument(
            "--format", "text, or the page docs/settings.md", choices=("text", "markdown"), default="text"
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["format"] == "markdown":
            self.stdout.write(as_markdown(), ending="")
        else:
            self.echo(as_text(config.values()))
