"""The EVM behind one seam: what a call is, what it may read, and what comes of it.

Nothing here knows of Django, of SQL or of HTTP. `seam` has the types that engines and their users share; no
type of the EVM library leaves this package. Importing it is cheap; the library comes with the first engine.
"""
