"""The HTTP kit of the API, on Django REST framework."""

from mirror.core.imports import import_without

# REST framework imports these for its browsable API and its test client wherever they are installed, which
# takes each process 0.1 s and some memory.
import_without("rest_framework.compat", "pygments", "requests")
