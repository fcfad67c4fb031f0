"""A simulated network, which performs transactions on a model of its own and writes real signed record files.

The same seed gives the same files. `World` is the model, `Network` submits transactions and closes blocks,
`actions` are what people and administrators do, and `publish` writes the files. Nothing here reads what the
mirror stores: tests compare the two.
"""
