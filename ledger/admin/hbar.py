"""The pages of transfers, allowances and balances of hbar."""

from django.contrib import admin

from ledger.models import (
    AccountBalance,
    AccountBalanceFile,
    BalanceDifference,
    CryptoAllowance,
    CryptoAllowanceHistory,
    CryptoTransfer,
    NonFeeTransfer,
    ReconciliationJob,
    StakingRewardTransfer,
)
from mirror.core.admin.readonly import CompositeKeyAdmin, HistoryAdmin, ReadOnlyAdmin
from mirror.core.admin.related import Related, same


@admin.register(CryptoTransfer)
class CryptoTransferAdmin(CompositeKeyAdmin):
    label, singular = "Hbar transfers", "Hbar transfer"
    list_display = ("consensus_timestamp", "entity_id", "amount", "payer_account_id", "is_approval")


@admin.register(NonFeeTransfer)
class NonFeeTransferAdmin(CompositeKeyAdmin):
    list_display = ("consensus_timestamp", "entity_id", "amount", "payer_account_id", "is_approval")


@admin.register(CryptoAllowance)
class CryptoAllowanceAdmin(CompositeKeyAdmin):
    label, singular = "Hbar allowances", "Hbar allowance"
    related = (Related(CryptoAllowanceHistory, same("owner", "spender"), "Earlier grants"),)


@admin.register(AccountBalanceFile)
class AccountBalanceFileAdmin(ReadOnlyAdmin):
    label, singular = "Balance snapshots", "Balance snapshot"
    list_display = ("consensus_timestamp", "count", "name", "synthetic")


@admin.register(AccountBalance)
class AccountBalanceAdmin(CompositeKeyAdmin):
    label, singular = "Account balances at snapshots", "Account balance"


@admin.register(BalanceDifference)
class BalanceDifferenceAdmin(CompositeKeyAdmin):
    label, singular = "Differences from balance files", "Difference from a balance file"
    list_display = ("consensus_timestamp", "account_id", "token_id", "ours", "theirs", "file")


admin.site.register(CryptoAllowanceHistory, HistoryAdmin)
admin.site.register(ReconciliationJob, ReadOnlyAdmin)
admin.site.register(StakingRewardTransfer, CompositeKeyAdmin)
