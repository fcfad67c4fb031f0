"""Fees of transactions (HIP-1261) and what a busy network asks on top (HIP-1313), without the database.

Amounts are tinycents, a hundred millionth of a US cent.
"""
