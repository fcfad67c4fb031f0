"""`manage.py serve-grpc`: the gRPC server alone, on a database that other commands fill."""

from typing import Any

from mirror.management.command import NodeCommand
from mirror.start import up


class Command(NodeCommand):
    outlasts_output = True
    help = (
        "Run the gRPC server alone, with its database if that is not running yet. Ctrl-C stops it. Nothing "
        "is loaded."
    )
    when = (
        "SDKs read topics and the address book by it. Use it beside `manage.py serve`, and for further gRPC "
        "servers on one database. `manage.py up` runs one itself where SVC_MIRROR_GRPC_PORT names its port."
    )
    examples = (("serve-grpc", "The gRPC API at the port of SVC_MIRROR_GRPC_PORT, on SVC_MIRROR_WEB_HOST."),)

    def handle(self, *args: Any, **options: Any) -> None:
        up.serve_grpc(self.echo)
