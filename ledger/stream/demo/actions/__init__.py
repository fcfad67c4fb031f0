"""What the network's people do: one module a subject, each with its list `ACTIONS`."""

from ledger.stream.demo.actions import crypto, files, topics
from ledger.stream.demo.network import Action

ALL: tuple[Action, ...] = (*crypto.ACTIONS, *files.ACTIONS, *topics.ACTIONS)
