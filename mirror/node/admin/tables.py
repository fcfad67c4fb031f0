"""The admin's pages of what is loaded."""

from django.contrib import admin

from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.core.admin.tables import table
from mirror.models import DroppedRows, LoadedRange

_COLUMNS = "consensus_start consensus_end first_block last_block transactions signed filters rests_on"

admin.site.register(
    LoadedRange, ReadOnlyAdmin, **table(_COLUMNS, label="Loaded ranges", singular="Loaded range")
)
admin.site.register(
    DroppedRows, ReadOnlyAdmin, **table("table_name before", label="Dropped rows", singular="Dropped rows")
)
