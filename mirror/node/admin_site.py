"""The node's admin site. Its first page shows the status, charts, and what went wrong lately.

When something is wrong now, it shows the inventory, too.
"""

from typing import Any

from django.db import ProgrammingError, transaction
from django.http import HttpRequest

from mirror.admin.site import MirrorAdminSite
from mirror.node import dashboard, inventory, status


class NodeAdminSite(MirrorAdminSite):
    app_order = ("ledger", "tokens", "contracts", "network", "web3sim", "auth")
    shortcut_tables = (
        "ledger.RecordFile",
        "ledger.Transaction",
        "ledger.Entity",
        "tokens.Token",
        "contracts.ContractResult",
        "ledger.TopicMessage",
    )
    index_template = "mirror/admin/index.html"

    def index(self, request: HttpRequest, extra_context: Any = None) -> Any:
        try:
            with transaction.atomic():
                now = status.read()
                charts = list(dashboard.charts(now))
        except ProgrammingError:
            return super().index(request, {"outdated": True})
        context = {
            "status": now,
            "inventory": list(inventory.lines(now)) if now.needs_help else [],
            "charts": charts,
            "troubles": list(dashboard.troubles(now)),
        }
        return super().index(request, context)
