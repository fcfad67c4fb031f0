"""The pages of schedules and their signatures."""

from django.contrib import admin

from ledger.models import Schedule, TransactionSignature
from mirror.core.admin.readonly import CompositeKeyAdmin, ReadOnlyAdmin
from mirror.core.admin.related import Related, same


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
    of_entity = True
    everywhere = ("schedule_id",)
    list_display = (
        "schedule_id",
        "creator_account_id",
        "payer_account_id",
        "consensus_timestamp",
        "executed_timestamp",
        "expiration_time",
        "wait_for_expiry",
    )
    related = (Related(TransactionSignature, same(entity_id="schedule_id"), "Signatures"),)


@admin.register(TransactionSignature)
class TransactionSignatureAdmin(CompositeKeyAdmin):
    list_display = ("entity_id", "consensus_timestamp", "public_key_prefix", "type", "signature")
