"""`manage.py status`: one sentence about what the node is doing, and an inventory of what it holds."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from mirror.node import inventory, status
from mirror.node.tables import check_current


class Command(BaseCommand):
    help = (
        "Say in one sentence what the node is doing, how far behind it is and at what rate; when it is "
        "stuck, why and what to do. Below it: the last block, the loader, the nodes that signed, the address "
        "book, estimated rows, disk, versions. The exit code is 1 when someone has to help."
    )

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
