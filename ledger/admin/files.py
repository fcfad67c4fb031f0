"""The page of file contents."""

from django.contrib import admin

from ledger.models import FileData
from mirror.core.admin.readonly import ReadOnlyAdmin


@admin.register(FileData)
class FileDataAdmin(ReadOnlyAdmin):
    label, singular = "File contents", "File content"
    list_display = ("consensus_timestamp", "entity_id", "transaction_type")
