"""The node's metrics: what happened, counted in every process and added up for whoever asks.

`kinds` counts in the memory of a process, which is as quick as it gets. `files` writes the counts of a
process to a file of the data folder once a second, and adds up those of all processes, also of those that
have ended. `exposition` writes them as Prometheus reads them.
The other modules declare the metrics by subject; a metric is declared once and documented there.
"""
