"""The node's admin site: its first page shows the status and, when something is wrong, the inventory."""

from typing import Any

from django.db import ProgrammingError, transaction
from django.http import HttpRequest

from mirror.admin.site import MirrorAdminSite
from mirror.node import inventory, status


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
        except ProgrammingError:
            return super().index(request, {"outdated": True})
        context = {"status": now, "inventory": list(inventory.lines(now)) if now.needs_help else []}
        return super().index(request, context)
