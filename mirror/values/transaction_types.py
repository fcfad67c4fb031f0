"""Transaction types.

Number (field of the `data` oneof of TransactionBody), name in the REST API, entity operation.
"""

from enum import Enum

UNKNOWN = "UNKNOWN"

NAMES = {
    7: "CONTRACTCALL",
    8: "CONTRACTCREATEINSTANCE",
    9: "CONTRACTUPDATEINSTANCE",
    10: "CRYPTOADDLIVEHASH",
    11: "CRYPTOCREATEACCOUNT",
    12: "CRYPTODELETE",
    13: "CRYPTODELETELIVEHASH",
    14: "CRYPTOTRANSFER",
    15: "CRYPTOUPDATEACCOUNT",
    16: "FILEAPPEND",
    17: "FILECREATE",
    18: "FILEDELETE",
    19: "FILEUPDATE",
    20: "SYSTEMDELETE",
    21: "SYSTEMUNDELETE",
    22: "CONTRACTDELETEINSTANCE",
    23: "FREEZE",
    24: "CONSENSUSCREATETOPIC",
    25: "CONSENSUSUPDATETOPIC",
    26: "CONSENSUSDELETETOPIC",
    27: "CONSENSUSSUBMITMESSAGE",
    28: "UNCHECKEDSUBMIT",
    29: "TOKENCREATION",
    31: "TOKENFREEZE",
    32: "TOKENUNFREEZE",
    33: "TOKENGRANTKYC",
    34: "TOKENREVOKEKYC",
    35: "TOKENDELETION",
    36: "TOKENUPDATE",
    37: "TOKENMINT",
    38: "TOKENBURN",
    39: "TOKENWIPE",
    40: "TOKENASSOCIATE",
    41: "TOKENDISSOCIATE",
    42: "SCHEDULECREATE",
    43: "SCHEDULEDELETE",
    44: "SCHEDULESIGN",
    45: "TOKENFEESCHEDULEUPDATE",
    46: "TOKENPAUSE",
    47: "TOKENUNPAUSE",
    48: "CRYPTOAPPROVEALLOWANCE",
    49: "CRYPTODELETEALLOWANCE",
    50: "ETHEREUMTRANSACTION",
    51: "NODESTAKEUPDATE",
    52: "UTILPRNG",
    53: "TOKENUPDATENFTS",
    54: "NODECREATE",
    55: "NODEUPDATE",
    56: "NODEDELETE",
    57: "TOKENREJECT",
    58: "TOKENAIRDROP",
    59: "TOKENCANCELAIRDROP",
    60: "TOKENCLAIMAIRDROP",
    74: "ATOMICBATCH",
    75: "LAMBDASSTORE",
    76: "HOOKDISPATCH",
}

NUMBERS = {name: number for number, name in NAMES.items()}


class EntityOperation(Enum):
    """What a successful transaction of a type does to its main entity."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


_OPERATIONS = {
    **dict.fromkeys((8, 11, 17, 24, 29, 42), EntityOperation.CREATE),
    **dict.fromkeys((9, 15, 19, 21, 25, 36), EntityOperation.UPDATE),
    **dict.fromkeys((12, 18, 20, 22, 26, 35, 43), EntityOperation.DELETE),
}


def name(number: int) -> str:
    """REST name, UNKNOWN for a number without one."""
    return NAMES.get(number, UNKNOWN)


def number(name: str) -> int | None:
    """Number of a REST name in any case; None if there is no such type."""
    return NUMBERS.get(name.upper())


def operation(number: int) -> EntityOperation:
    return _OPERATIONS.get(number, EntityOperation.NONE)
