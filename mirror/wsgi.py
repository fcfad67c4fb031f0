import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
application = get_wsgi_application()

# A request makes thousands of objects that die with it and hardly a cycle: looking for cycles as often as
# Python does by default takes a fifth of its time.
gc.freeze()
gc.set_threshold(100_000, 50, 100)
