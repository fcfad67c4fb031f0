"""The custom fees that a transfer of tokens is charged (HIP-18): who pays what to whom."""
