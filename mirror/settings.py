"""Django's settings, derived from those of the operator in `mirror.core.config`."""

import secrets
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mirror.core import config
from mirror.core.config.caches import caches
from mirror.core.config.database import parse_url
from mirror.core.config.setting import InvalidSetting
from mirror.node.admin import access
from mirror.node.postgres.installation import server_paths

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = "1.0.0"
DATA_DIR = (BASE_DIR / config.value("data")).resolve()
# The bucket folder of the node's own demo network, below DATA_DIR.
DEMO_STREAM = "demo-stream"

IS_PRODUCTION = config.value("profile") == "production"
DEBUG: bool = config.value("web.debug")
INTERNAL_IPS = ["127.0.0.1", "::1"]
HAS_TOOLBAR = DEBUG and find_spec("debug_toolbar") is not None
if DEBUG and (
    IS_PRODUCTION
    or config.value("web.host") not in ("localhost", *INTERNAL_IPS)
    or config.value("web.trustedProxies")
    or config.value("web.adminOrigins")
):
    raise InvalidSetting(
        "SVC_MIRROR_WEB_DEBUG=true shows settings and stacks to every client: it needs a node for this "
        "machine alone, with SVC_MIRROR_WEB_HOST=127.0.0.1, SVC_MIRROR_PROFILE=local, and without a proxy "
        "(SVC_MIRROR_WEB_TRUSTEDPROXIES, SVC_MIRROR_WEB_ADMINORIGINS)."
    )
if config.value("telemetry.endpoint") and find_spec("opentelemetry") is None:
    raise InvalidSetting(
        "SVC_MIRROR_TELEMETRY_ENDPOINT needs OpenTelemetry: `make telemetry` installs it, and so does "
        "`pip install '.[telemetry]'`."
    )
# `up` and `serve` make the stored key; without it sessions end with the process that started them.
SECRET_KEY = config.value("web.secretKey") or access.stored_session_key(DATA_DIR) or secrets.token_urlsafe(50)
ALLOWED_HOSTS = list(config.value("web.allowedHosts"))

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "mirror.node.admin.apps.UnfoldConfig",
    "mirror.node.admin.apps.NodeAdminConfig",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_filters",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    *(["debug_toolbar"] if HAS_TOOLBAR else []),
    "mirror",
    "ledger",
    "contracts",
    "tokens",
    "network",
    "web3sim",
]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["mirror.core.rest.users.UserAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_THROTTLE_CLASSES": ["mirror.core.rest.throttle.ClientThrottle"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "mirror.core.rest.answers.response.OwnRenderer",
    "DEFAULT_SCHEMA_CLASS": "mirror.core.rest.schema.description.EndpointSchema",
    "EXCEPTION_HANDLER": "mirror.core.rest.answers.errors.answer",
    "UNAUTHENTICATED_USER": None,
}

# The document of the API's description.
SPECTACULAR_SETTINGS = {
    "TITLE": "Ledger Mirror",
    "DESCRIPTION": "The REST API of a mirror node for Hiero and Hedera networks.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "DEFAULT_GENERATOR_CLASS": "mirror.core.rest.schema.description.Generator",
    "ENABLE_DJANGO_DEPLOY_CHECK": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "/favicon.svg",
    # Without the image of a service that checks descriptions.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},
    # Not the hook that makes components of enumerations: the names that it gives to `_type` and `type` differ
    # only by case and an underscore, which generators of clients drop.
    "POSTPROCESSING_HOOKS": [],
}

LOGGING_CONFIG, LOGGING = "mirror.core.logs.configuring.configure", {"version": 1}

MIDDLEWARE = [
    "mirror.web.requests.middleware.ObserverMiddleware",
    "mirror.web.requests.middleware.ForwardedMiddleware",
    "mirror.core.rest.middleware.ApiMiddleware",
    "mirror.core.admin.access.middleware.AdminCompressionMiddleware",
    *(["debug_toolbar.middleware.DebugToolbarMiddleware"] if HAS_TOOLBAR else []),
    "mirror.core.admin.access.middleware.AdminSecurityMiddleware",
    "mirror.core.admin.access.middleware.AdminFrameMiddleware",
    "mirror.core.admin.access.middleware.AdminSessionMiddleware",
    "mirror.core.admin.access.middleware.AdminAuthenticationMiddleware",
    "mirror.core.admin.access.middleware.AdminSecondFactorMiddleware",
    "mirror.core.admin.access.middleware.AdminMessageMiddleware",
    "mirror.core.admin.access.login.LoginMiddleware",
]

ROOT_URLCONF = "mirror.urls"
WSGI_APPLICATION = "mirror.wsgi.application"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
STATIC_URL = "/static/"

# The admin's cookies, which browsers send to the admin alone. Behind an HTTPS proxy they are for HTTPS only,
# and forms are accepted from the proxy's addresses.
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = "/admin"
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "ledger_mirror_session", "ledger_mirror_csrf"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
CSRF_TRUSTED_ORIGINS = list(config.value("web.adminOrigins"))
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_PRODUCTION or bool(CSRF_TRUSTED_ORIGINS)
SECURE_HSTS_SECONDS = round(config.value("web.hstsMaxAge"))
X_FRAME_OPTIONS = "DENY"

# Warnings of `manage.py check --deploy` that don't apply, each with the reason.
SILENCED_SYSTEM_CHECKS = [
    # The middleware of django-axes would run for every request of the API; LoginMiddleware answers instead.
    "axes.W002",
    # The admin's own middleware sets the security headers; the API has no pages, and whether the node is
    # reached by HTTPS is decided by the proxy in front of it.
    "security.W001",
    # The admin's own middleware sets X-Frame-Options; the API answers JSON, which no frame can misuse.
    "security.W002",
    # Every form of the admin is protected by Django's token in the admin's own middleware; the API changes
    # nothing and knows no session.
    "security.W003",
    # Cookies are for HTTPS only in production, and as soon as web.adminOrigins names the proxy that speaks
    # it; otherwise the node listens on this machine alone, by plain HTTP, where such a cookie would never
    # come back.
    *([] if IS_PRODUCTION else ["security.W010"]),
]
LOGIN_URL = "/admin/login/"
# For those who come to that page by its address.
LOGIN_REDIRECT_URL = "/admin/"

# django-axes refuses to check passwords after so many failures within a minute; see
# mirror.core.admin.access.login. The counts are in files that all web server processes share, so that its
# tables are not needed.
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "mirror.core.admin.access.login.PasswordBackend",
]
# For passwords that people choose: in forms of the admin, by `createsuperuser` and by `changepassword`.
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
MIGRATION_MODULES = {"axes": None}
AXES_CACHE = "logins"
AXES_HANDLER = "mirror.core.admin.access.login.LoginCounts"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address"]
AXES_USERNAME_CALLABLE = "mirror.core.admin.access.login.login_name"
AXES_CLIENT_IP_CALLABLE = "mirror.core.admin.access.login.counted_client"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=1)
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
# The name by which an authenticator lists the keys of a node.
OTP_TOTP_ISSUER = "Ledger Mirror"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The look of the admin; `mirror.core.admin.site` says the rest.
UNFOLD = {
    "SITE_TITLE": "Ledger Mirror",
    "SITE_HEADER": "Ledger Mirror",
    "SITE_URL": "/",
    "LOGIN": {"form": "mirror.core.admin.access.second_factor.SignInForm"},
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
}

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # Before those of django-unfold and of Django's admin.
        "DIRS": [BASE_DIR / "mirror" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]


def _database(url: str | None) -> dict[str, Any]:
    """Return the connection of DATABASE_URL, or of the node's own PostgreSQL in the data folder."""
    connection: dict[str, Any] = {
        "ENGINE": "mirror.core.db.backend",
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }
    if not url:
        return connection | {
            "NAME": "mirror_node",
            "USER": "mirror_node",
            "HOST": str(server_paths(DATA_DIR).socket),
        }
    return connection | parse_url(url, "DATABASE_URL")


DATABASES = {"default": _database(config.value("db.url"))}
CACHES = caches() | {
    "logins": {
        "BACKEND": "mirror.core.admin.access.login.LoginFiles",
        "LOCATION": DATA_DIR / "logins",
        "OPTIONS": {"MAX_ENTRIES": 1000},
    },
}
