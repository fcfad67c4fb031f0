"""The second factor of the admin: codes of an authenticator app (TOTP, RFC 6238), checked by django-otp.

Each account has at most one key. django-otp accepts a code only once. After each wrong code it rejects all
codes of the account for a period that doubles.
"""

from base64 import b32encode
from typing import Any

import django_otp
from django import forms
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.forms import AuthenticationForm
from unfold.widgets import BASE_INPUT_CLASSES

from mirror.core import config, logs

log = logs.logger("mirror.admin")

SETTING = "web.adminSecondFactor"
_WRONG = "This code is wrong, or was used before. After several wrong codes, wait a minute for the next one."
# With these attributes, browsers and phones offer the code for completion.
_CODE = {"autocomplete": "one-time-code", "inputmode": "numeric", "class": " ".join(BASE_INPUT_CLASSES)}


def device(user: Any) -> TOTPDevice | None:
    """Return the key of an account; None without one, or if the setting is off."""
    if config.value(SETTING) == "off":
        return None
    return TOTPDevice.objects.filter(user=user, confirmed=True).first()


def new_device(user: Any, *, confirmed: bool) -> TOTPDevice:
    """Create a key for an account, and delete its earlier ones."""
    with transaction.atomic():
        TOTPDevice.objects.filter(user=user).delete()
        return TOTPDevice.objects.create(user=user, name="authenticator", confirmed=confirmed)


def remove(user: Any) -> bool:
    """Delete the keys of an account; return whether it had any."""
    return bool(TOTPDevice.objects.filter(user=user, confirmed=True).delete()[0])


def is_given(request: HttpRequest) -> bool:
    """Return whether the code was given at sign-in, or the account has no second factor."""
    user: Any = request.user
    return user.is_verified() or device(user) is None


def is_missing(request: HttpRequest) -> bool:
    """Return whether the account needs a second factor, and has none."""
    user: Any = request.user
    return config.value(SETTING) == "required" and not user.is_verified()


class SignInForm(AuthenticationForm):  # type: ignore[misc]
    """Name, password, and the code if the account has a second factor."""

    code = forms.CharField(
        required=False,
        max_length=16,
        label="Code, if you have a second factor",
        widget=forms.TextInput(_CODE),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if config.value(SETTING) == "off":
            del self.fields["code"]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        user: Any = self.get_user()
        if user is not None and (own := device(user)) is not None:
            code = cleaned.get("code")
            if not code:
                raise ValidationError("Enter the code that your authenticator shows.")
            user.otp_device = django_otp.verify_token(user, own.persistent_id, code)
            if user.otp_device is None:
                credentials = {"username": user.get_username()}
                user_login_failed.send(sender=__name__, credentials=credentials, request=self.request)
                raise ValidationError(_WRONG)
        return cleaned


def page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Show a new key, which counts once a code of it is given; or delete the key of an account."""
    user: Any = request.user
    if config.value(SETTING) == "off":
        text = f"The setting {config.lookup(SETTING).variable} is off."
        return render(request, "mirror/admin/problem.html", context | {"text": text})
    own = device(user)
    shown = own or TOTPDevice.objects.filter(user=user).first()
    if request.method == "POST" and shown is not None:
        if django_otp.verify_token(user, shown.persistent_id, request.POST.get("code", "")):
            _change(request, shown)
            return HttpResponseRedirect(reverse("admin:second_factor"))
        context["error"] = _WRONG
    elif own is None:
        shown = new_device(user, confirmed=False)
    if shown is not own and shown is not None:
        context |= {"image": _image(shown), "key": key_text(shown), "address": shown.config_url}
    return render(request, "mirror/admin/second_factor.html", context)


def _change(request: HttpRequest, shown: TOTPDevice) -> None:
    if shown.confirmed:
        remove(request.user)
        log.info("second_factor_removed", name=shown.user.get_username())
        return
    TOTPDevice.objects.filter(pk=shown.pk).update(confirmed=True)
    django_otp.login(request, shown)
    log.info("second_factor_added", name=shown.user.get_username())


def key_text(shown: TOTPDevice) -> str:
    """Return a key in Base32, for typing into an authenticator app."""
    return b32encode(shown.bin_key).decode()


def _image(shown: TOTPDevice) -> str:
    """Return a QR code of the key, on white in dark mode too, as the address of an image."""
    # Only this page needs it.
    import segno

    return str(segno.make(shown.config_url).svg_data_uri(scale=4, light="white"))
