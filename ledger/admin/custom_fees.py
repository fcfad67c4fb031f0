"""The pages of the custom fees of tokens and topics."""

from django.contrib import admin

from ledger.models import CustomFee, CustomFeeHistory
from mirror.core.admin.readonly import HistoryAdmin, ReadOnlyAdmin
from mirror.core.admin.related import Related, same


@admin.register(CustomFee)
class CustomFeeAdmin(ReadOnlyAdmin):
    of_entity = True
    related = (Related(CustomFeeHistory, same("entity_id"), "Earlier fee schedules"),)
    list_display = ("entity_id", "timestamp_range", "fixed_fees", "fractional_fees", "royalty_fees")


admin.site.register(CustomFeeHistory, HistoryAdmin)
