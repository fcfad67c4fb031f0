"""The admin's pages of what is loaded."""

from django.contrib import admin

from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.models import DroppedRows, LoadedRange


@admin.register(LoadedRange)
class LoadedRangeAdmin(ReadOnlyAdmin):
    label, singular = "Loaded ranges", "Loaded range"
    list_display = (
        "consensus_start", "consensus_end", "first_block", "last_block", "transactions", "signed", "filters",
        "rests_on",
    )  # fmt: skip


@admin.register(DroppedRows)
class DroppedRowsAdmin(ReadOnlyAdmin):
    label, singular = "Dropped rows", "Dropped rows"
    list_display = ("table_name", "before")
