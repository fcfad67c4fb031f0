"""`manage.py up`: a whole node, with database, tables, demo network and web server, until Ctrl-C."""

from typing import Any

from mirror.management.command import NodeCommand, UsageError, argument
from mirror.start import up as node


class Command(NodeCommand):
    outlasts_output = True
    help = (
        "Run a whole node: database, web server, and the demo network or the network that settings name. "
        "Ctrl-C stops it; the next one goes on where it was."
    )
    when = (
        "This is all that most nodes need. Without any setting it shows the demo network. It follows another "
        "network as soon as settings name one and its bucket: SVC_MIRROR_NETWORK and "
        "SVC_MIRROR_IMPORTER_DOWNLOADER_*."
    )
    examples = (
        ("up", "The demo network at http://127.0.0.1:8000, with all its data in the folder data."),
        ("up --live", "The same, with a new block every two seconds."),
        ("up --live --block-node", "The same, in blocks that the node follows from a block node."),
        ("up --live --sdk-ports", "The same, where SDKs for local networks look for it."),
    )
    arguments = (
        argument("--live", "let the demo network go on, with a new block every two seconds"),
        argument("--block-node", "with --live, let the demo network go over from record files to blocks, for "
                 "good: a block node on this machine serves them, and this node follows it"),
        argument("--sdk-ports", "answer at the ports, too, that SDKs have built in for local networks"),
    )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        if options["block_node"] and not options["live"]:
            raise UsageError("--block-node says how the demo network goes on: it needs --live.")
        node.up(self.echo, live=options["live"], block_node=options["block_node"], sdk=options["sdk_ports"])
