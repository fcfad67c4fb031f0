"""The filters of contract calls."""

from django.core.exceptions import ValidationError
from django.db import models

from web3sim.limits.conditions import InvalidCondition, parse_conditions

#: Most requests per second of a filter.
MAX_RATE = 10**9


class ContractCallFilter(models.Model):
    """A filter: what to do with contract calls of some kind. It is edited in the admin.

    The setting `web3.throttle.request` has others. Every web server process sees a change within two seconds.
    """

    written_by_web_server = True

    class Action(models.TextChoices):
        LOG = "LOG", "log the request"
        REJECT = "REJECT", "refuse the request"
        THROTTLE = "THROTTLE", "refuse requests beyond a number per second"
        MODULARIZED = "MODULARIZED", "run with block translation"
        MONOLITHIC = "MONOLITHIC", "run with plain py-evm"

    name = models.CharField(primary_key=True, max_length=100)
    enabled = models.BooleanField(default=True)
    action = models.CharField(max_length=11, choices=Action, default=Action.LOG)
    # As `parse_conditions` reads them.
    conditions = models.TextField(blank=True)
    # Percent of the requests that are filtered; for THROTTLE requests per second.
    rate = models.IntegerField(default=100)
    # The total number of requests that are filtered, null for any number.
    limit = models.BigIntegerField(null=True, blank=True)
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "contract_call_filter"

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        errors: dict[str, str] = {}
        try:
            parse_conditions(self.conditions)
        except InvalidCondition as error:
            errors["conditions"] = str(error)
        max_rate = MAX_RATE if self.action == self.Action.THROTTLE else 100
        if self.rate is not None and not 0 <= self.rate <= max_rate:
            errors["rate"] = f"Choose a number from 0 to {max_rate}."
        if self.limit is not None and self.limit < 0:
            errors["limit"] = "Choose a number from 0 on, or none."
        if errors:
            raise ValidationError(errors)
