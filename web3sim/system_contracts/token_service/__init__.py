"""The token service, 0x167, and tokens at their own addresses: `functions` is the table of what they do."""
