import os

# gRPC would run code of its own in a forked child before the child begins its own work. Of a child that
# closes its files first, as a program does that is to run as another user, every fortieth then crashed.
# No child goes on with the connections of its parent; it must be set before gRPC is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
