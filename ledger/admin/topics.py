"""The pages of topics and their messages."""

from django.contrib import admin

from ledger.models import CustomFee, Topic, TopicHistory, TopicMessage, TopicMessageLookup
from mirror.core.admin.readonly import CompositeKeyAdmin, HistoryAdmin, ReadOnlyAdmin
from mirror.core.admin.related import Related, same


@admin.register(Topic)
class TopicAdmin(ReadOnlyAdmin):
    of_entity = True
    everywhere = ("id",)
    list_display = ("id", "created_timestamp", "admin_key", "submit_key")
    related = (
        Related(TopicMessage, same(topic_id="id"), "Messages"),
        Related(CustomFee, same(entity_id="id"), "Custom fees"),
        Related(TopicHistory, same("id"), "Earlier versions"),
    )


@admin.register(TopicMessage)
class TopicMessageAdmin(CompositeKeyAdmin):
    list_display = ("topic_id", "sequence_number", "consensus_timestamp", "message", "payer_account_id")


admin.site.register(TopicHistory, HistoryAdmin)
admin.site.register(TopicMessageLookup, CompositeKeyAdmin)
