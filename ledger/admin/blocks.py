"""The pages of blocks and their sidecar files."""

from collections.abc import Iterable, Iterator

from django.contrib import admin
from django.db.models import Q
from django.utils.html import format_html

from ledger.models import RecordFile, SidecarFile, Transaction
from mirror.core.admin import columns
from mirror.core.admin.addresses import api_link
from mirror.core.admin.kinds.base import InvalidText
from mirror.core.admin.kinds.times import utc
from mirror.core.admin.lists import conditions
from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.core.admin.related import Related, join_on


@admin.register(RecordFile)
class RecordFileAdmin(ReadOnlyAdmin):
    label, singular = "Blocks", "Block"
    list_display = ("consensus_end", "index", "count", "name", "hash", "gas_used", "size", "sidecar_count")
    search_fields = ("index", "hash", "consensus_end")
    extra_search = "the block a time lies in"
    related = (
        Related(
            Transaction,
            lambda block: {"consensus_timestamp": f"{block.consensus_start}..{block.consensus_end}"},
            limit=25,
        ),
        Related(SidecarFile, join_on("consensus_end")),
    )

    def global_search(self, text: str) -> Iterable[Q]:
        yield from conditions(RecordFile, ("index", "hash"), text)
        if "." in text:
            yield from self._blocks_at_time(text)

    def search(self, text: str) -> Iterable[Q]:
        """Find the block of a time: the first that ends at or after it."""
        yield from conditions(RecordFile, ("index", "hash"), text)
        yield from self._blocks_at_time(text)
        yield from conditions(RecordFile, ("consensus_end",), text)

    def _blocks_at_time(self, text: str) -> Iterable[Q]:
        try:
            time = columns.OF_BLOCK.lookup(text)
        except InvalidText:
            return
        if "exact" in time:
            # Index: the primary key (consensus_end).
            following = RecordFile.objects.filter(consensus_end__gte=time["exact"]).order_by("consensus_end")
            yield Q(consensus_end__in=list(following.values_list("consensus_end", flat=True)[:1]))

    def row_summary(self, row: RecordFile) -> str:
        return f"Block of {row.count:,} transactions until {utc(row.consensus_end)[:19]} UTC"

    def row_title(self, row: RecordFile) -> str:
        return f"{row.index}"

    def facts(self, row: RecordFile) -> Iterator[tuple[str, str]]:
        # Index: record_file__index (index).
        neighbours = RecordFile.objects.filter(index__in=(row.index - 1, row.index + 1)).only("index")[:2]
        for other in sorted(neighbours, key=lambda block: block.index):
            name = "Next block" if other.index > row.index else "Previous block"
            href = columns.OF_BLOCK.href(other.consensus_end)
            yield name, format_html('<a href="{}">{}</a>', href, other.index)
        yield "In the API", api_link(f"blocks/{row.index}")
