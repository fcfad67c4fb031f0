"""The WSGI application of each web worker."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
application = get_wsgi_application()

# A request makes thousands of objects, which die with it, and hardly a cycle. Looking for cycles as often as
# Python does by default would take a fifth of its time.
gc.freeze()
gc.set_threshold(100_000, 50, 100)
