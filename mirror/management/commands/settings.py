"""`manage.py settings`: print every setting with its variable, default, range and meaning."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from mirror import config
from mirror.config.printing import as_markdown, as_text


class Command(BaseCommand):
    help = (
        "Print every setting: its environment variable, default, range and meaning, and the value in force."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--format",
            choices=("text", "markdown"),
            default="text",
            help="text, or the page docs/settings.md",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["format"] == "markdown":
            self.stdout.write(as_markdown(), ending="")
        else:
            self.stdout.write(as_text(config.values()))
