"""The number of blocks among the formats of stream files; record files are of format 1, 2, 5 or 6.

It is alone here as reading blocks takes long to import.
"""

from typing import Final

BLOCK_VERSION: Final = 7
