"""`manage.py status`: one sentence about what the node is doing, and an inventory of what it holds."""

import sys
from typing import Any

from mirror.management.command import NodeCommand
from mirror.node import inventory, status
from mirror.node.tables import check_current


class Command(NodeCommand):
    help = (
        "Say what the node is doing, how far behind it is, and what to do when it can't go on. Lines below "
        "that show what it holds and where. The exit code is 1 when somebody has to do something, else 0."
    )
    when = "Use it first whenever something seems wrong. It changes nothing, and may run at any time."
    examples = (("status", "A few lines for people."),)

    def handle(self, *args: Any, **options: Any) -> None:
        check_current()
        now = status.read()
        self.stdout.write(f"{now.sentence}\n\n")
        pairs = list(inventory.lines(now))
        width = max(len(heading) for heading, _ in pairs)
        for heading, text in pairs:
            self.stdout.write(f"  {heading:<{width}}  {text}")
        if now.needs_help:
            sys.exit(1)
