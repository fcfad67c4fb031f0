"""Proofs that people can take away: that the network has agreed on a transaction."""
