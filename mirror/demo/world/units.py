"""Units of amounts in the simulated network."""

HBAR = 100_000_000  # tinybars
