"""A simulated network: it performs transactions on a model of its own and writes real signed record files.

The same seed gives the same files. `Network` is where things happen, `World` the plain model of what is true
by then, `actions` what the network's people do. Nothing here reads what the mirror makes of the files: the
simulation is a witness of its own.
"""
