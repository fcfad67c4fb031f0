"""What the network's transactions do to a ledger: their checks, in the network's order, and their rows.

They work on the overlay of a simulated call and are independent of the system contracts. What a check or an
operation rejects raises Rejected.
"""
