"""The WSGI application of each web worker."""

import gc
import os

from django.core.wsgi import get_wsgi_application

from mirror.core import telemetry

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")

# Before the middleware is loaded, as it adds its own.
telemetry.start()
application = get_wsgi_application()

# A request makes hundreds of objects. Looking among all that the process has loaded for those that are
# unreachable, as often as Python does by default, would take a fifth of its time.
gc.freeze()
gc.set_threshold(20_000, 20, 100)
