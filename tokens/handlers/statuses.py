"""What token.freeze_status and kyc_status, and those of token_account, hold; null in the latter: the
token's.
"""

NOT_APPLICABLE = 0

FROZEN, UNFROZEN = 1, 2

GRANTED, REVOKED = 1, 2
