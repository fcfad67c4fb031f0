"""The node's admin site. Its first page shows the status, charts, and what went wrong lately.

When something is wrong now, it shows the inventory, too.
"""

from dataclasses import replace
from typing import Any

from django.db import ProgrammingError, transaction
from django.http import HttpRequest

from mirror.core.admin.site import MirrorAdminSite
from mirror.node.admin import dashboard
from mirror.node.health import inventory, replicas, status
from mirror.node.health.loaded_ranges import loaded_text, supply_text
from mirror.node.health.status import code_html


class NodeAdminSite(MirrorAdminSite):
    app_order = ("ledger", "tokens", "contracts", "network", "web3sim", "mirror", "auth")
    shortcut_tables = (
        "ledger.RecordFile", "ledger.Transaction", "ledger.Entity", "tokens.Token",
        "contracts.ContractResult", "ledger.TopicMessage",
    )  # fmt: skip
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
            "sentence": code_html(now.sentence),
            "loaded": code_html("; ".join(filter(None, (loaded_text(now.loaded), supply_text(now.loaded))))),
            "replicas": [code_html(replica.text) for replica in replicas.read()],
            "inventory": [(heading, code_html(text)) for heading, text in inventory.read(now).lines(now)]
            if now.needs_operator
            else [],
            "charts": charts,
            "incidents": [
                replace(incident, what=code_html(incident.what), then=code_html(incident.then))
                for incident in dashboard.incidents(now)
            ],
        }
        return super().index(request, context)
