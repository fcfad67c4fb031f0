"""Every operator setting, declared once: each module has those whose names begin as it is called.

Those of the node itself have no common beginning.
"""

from mirror.core.config.settings import grpc, importer, node, rest, web3

SETTINGS = (
    *node.SETTINGS,
    *importer.SETTINGS,
    *rest.SETTINGS,
    *web3.SETTINGS,
    *grpc.SETTINGS,
)

#: The names of settings that an earlier release had and that are gone -> what to use instead, if anything.
REMOVED = dict.fromkeys(("rest.query.maxFileAttempts", *web3.REMOVED), "") | node.REMOVED
