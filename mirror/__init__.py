import os

# gRPC would run code of its own in a forked child before the child begins its own work. Of a child that
# closes its files first, as a program does that is to run as another user, every fortieth then crashed.
# No child goes on with the connections of its parent; it must be set before gRPC is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# The library under gRPC writes lines of its own form to stderr, such as of connections that end. Errors of
# calls say the same, and this program logs those. This must be set before gRPC is imported as well.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
