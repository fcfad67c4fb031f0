"""The values of the database's enum types, in their order there; see
`mirror.core.db.schema.fields.EnumField`.
"""

from django.db.models import TextChoices


class AirdropState(TextChoices):
    CANCELLED = "CANCELLED"
    CLAIMED = "CLAIMED"
    PENDING = "PENDING"


class EntityType(TextChoices):
    UNKNOWN = "UNKNOWN"
    ACCOUNT = "ACCOUNT"
    CONTRACT = "CONTRACT"
    FILE = "FILE"
    TOPIC = "TOPIC"
    TOKEN = "TOKEN"
    SCHEDULE = "SCHEDULE"


class ErrataType(TextChoices):
    INSERT = "INSERT"
    DELETE = "DELETE"


class HookExtensionPoint(TextChoices):
    ACCOUNT_ALLOWANCE_HOOK = "ACCOUNT_ALLOWANCE_HOOK"


class HookType(TextChoices):
    EVM = "EVM"


class TokenPauseStatus(TextChoices):
    NOT_APPLICABLE = "NOT_APPLICABLE"
    PAUSED = "PAUSED"
    UNPAUSED = "UNPAUSED"


class TokenSupplyType(TextChoices):
    INFINITE = "INFINITE"
    FINITE = "FINITE"


class TokenType(TextChoices):
    FUNGIBLE_COMMON = "FUNGIBLE_COMMON"
    NON_FUNGIBLE_UNIQUE = "NON_FUNGIBLE_UNIQUE"
