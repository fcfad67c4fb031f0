"""The EVM behind one interface: what a call is, what it may read, and what comes of it.

Nothing here knows Django, SQL or HTTP. `interface` has the types that engines and their users share; no type
of the EVM library leaves this package. Importing it is cheap: the library comes with the first engine.
"""
