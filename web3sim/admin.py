"""The page of the filters of contract calls."""

from django import forms
from django.contrib import admin
from unfold.admin import ModelAdmin

from web3sim.models import ContractCallFilter


class ContractCallFilterForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = ContractCallFilter
        fields = ("name", "enabled", "action", "conditions", "rate", "limit")
        help_texts = {
            "conditions": "One per line: BLOCK, DATA, ESTIMATE, FROM, GAS, TO or VALUE, then EQUALS or "
            "CONTAINS, then the text to look for, such as "
            "TO EQUALS 0x00000000000000000000000000000000000003e9. One that matches is enough; without any, "
            "every request matches. Upper and lower case are alike.",
            "rate": "Percent of the requests that are looked at; with “refuse requests beyond a number per "
            "second” that number.",
            "limit": "How many requests are looked at in all, from this change or the start of the web "
            "server on; empty for any number.",
        }


@admin.register(ContractCallFilter)
class ContractCallFilterAdmin(ModelAdmin):  # type: ignore[misc]
    form = ContractCallFilterForm
    label = "Filters of contract calls"
    description = (
        "What to do with contract calls of some kind: log, refuse or slow them, choose their engine."
    )
    list_display = ("name", "enabled", "action", "conditions", "rate", "limit", "changed")
    list_editable = ("enabled",)
    ordering = ("name",)

    def get_readonly_fields(self, request: object, obj: ContractCallFilter | None = None) -> tuple[str, ...]:
        """Return the name of a stored filter: it is the key, so another name would be another filter."""
        return () if obj is None else ("name",)
