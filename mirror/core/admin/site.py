"""The site at /admin: its name, its lists of tables, the time limit of its pages and their errors."""

from collections.abc import Sequence
from typing import Any

import psycopg
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.sites import UnfoldAdminSite

from mirror.core import config, logs
from mirror.core.admin import global_search
from mirror.core.admin.access import second_factor
from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.values.human_readable import marked

log = logs.logger("mirror.admin")


class MirrorAdminSite(UnfoldAdminSite):  # type: ignore[misc]
    index_title = "Overview"
    login_template = "mirror/admin/login.html"
    app_index_template = "mirror/admin/app_index.html"
    password_change_template = "registration/password_change_form.html"
    app_order: Sequence[str] = ()
    """The labels of the apps that people look at most, first of all."""
    shortcut_tables: Sequence[str] = ()
    """The tables that people look at most: `app.Model`."""

    def register(self, model_or_iterable: Any, admin_class: type[Any] | None = None, **options: Any) -> None:
        """Register models. A page of `ReadOnlyAdmin` has no form, so its model may have a composite key."""
        if admin_class is None or not issubclass(admin_class, ReadOnlyAdmin):
            super().register(model_or_iterable, admin_class, **options)
            return
        models = [model_or_iterable] if isinstance(model_or_iterable, type) else model_or_iterable
        for model in models:
            page = type(f"{model.__name__}Admin", (admin_class,), options)
            self._registry[model] = page(model, self)

    # ACCESS

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether somebody is staff, and has given the second factor that the account has."""
        if not super().has_permission(request):
            return False
        given: bool | None = getattr(request, "second_factor_is_given", None)
        if given is None:
            # Each table of a page calls this.
            given = second_factor.is_given(request)
            request.second_factor_is_given = given  # type: ignore[attr-defined]
        return given

    def extra_urls(self) -> list[URLPattern]:
        return [path("second-factor/", self.admin_view(self.second_factor), name="second_factor")]

    def second_factor(self, request: HttpRequest) -> HttpResponse:
        return second_factor.page(request, {**self.each_context(request), "title": "Second factor"})

    # PAGES

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return the apps in the order of `app_order`, their tables by name."""
        if app_label is None and (cached := getattr(request, "admin_tables", None)) is not None:
            return list(cached)
        apps = self._build_app_dict(request, app_label)
        labels = [*self.app_order, *apps]
        app_list = sorted(apps.values(), key=lambda app: labels.index(app["app_label"]))
        for app in app_list:
            for table in app["models"]:
                page = self._registry[table["model"]]
                table["name"] = getattr(page, "label", table["name"])
                table["current"] = request.path.startswith(table["admin_url"])
                table["description"] = getattr(page, "description", "")
            app["models"].sort(key=lambda table: table["name"].lower())
        if app_label is None:
            # The frame of a page shows it, and so may the page.
            request.admin_tables = app_list  # type: ignore[attr-defined]
        return app_list

    def get_sidebar_list(self, request: HttpRequest) -> list[Any]:
        """Return nothing: the menu shows the lists of tables (`admin/app_list.html`)."""
        return []

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context: dict[str, Any] = super().each_context(request)
        tables = {
            table["model"]._meta.label: table for app in context["available_apps"] for table in app["models"]
        }
        context["shortcuts"] = [tables[name] for name in self.shortcut_tables if name in tables]
        context["index_address"] = reverse("admin:index")
        return context

    def search(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Search all tables: as a page, or as the lines of the search that opens over any page."""
        text = request.GET.get("s", "")[: global_search.MAX_CHARACTERS]
        results = global_search.find(self, text)
        context = {"results": results, "text": text}
        if "extended" in request.GET:
            return render(request, "unfold/helpers/command_results.html", context)
        if len(results) == 1:
            return HttpResponseRedirect(results[0].link)
        context = {**self.each_context(request), **context, "title": "Search"}
        return render(request, "mirror/admin/search.html", context)

    # ERRORS AND LIMITS

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Limit the time of the page's statements like the API's, and show errors as pages."""

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                if second_factor.is_missing(request) and view not in (self.second_factor, self.logout):
                    return HttpResponseRedirect(reverse("admin:second_factor"))
                _limit_statements()
                response: HttpResponse = view(request, *args, **kwargs)
                # Rendered later, its errors would not be caught here.
                if isinstance(response, SimpleTemplateResponse):
                    response.render()
                return _marked(response)
            except Http404 as error:
                return _marked(
                    self._problem(request, 404, "Not found", str(error) or "There is no such page.")
                )
            except SuspiciousOperation as error:
                return _marked(self._problem(request, 400, "Not understood", str(error)))
            except PermissionDenied:
                return self._problem(request, 403, "Not allowed", "Your account may not see or do this.")
            except OperationalError as error:
                if not isinstance(error.__cause__, psycopg.errors.QueryCanceled):
                    return self._failed(request, error)
                limit = config.value("rest.db.statementTimeout")
                return self._problem(
                    request,
                    503,
                    "This took too long",
                    f"The database needed more than {limit:g} seconds. Look for fewer rows: add a time or "
                    "an entity, or open the row itself.",
                )
            except Exception as error:
                return self._failed(request, error)

        guarded.__dict__.update(view.__dict__)
        return super().admin_view(guarded, cacheable)

    def _failed(self, request: HttpRequest, error: Exception) -> HttpResponse:
        if outage.is_outage(error):
            outage.report(error, request=True)
            # A page of the admin would need the database for the user's name.
            text = "The database is away: try again in a moment."
            return HttpResponse(text, status=503, content_type="text/plain")
        log.error("unexpected_error", path=request.get_full_path(), exc_info=error)
        return self._problem(request, 500, "This went wrong", "The node's log says why.")

    def _problem(self, request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
        context = {**self.each_context(request), "title": title, "text": text}
        return render(request, "mirror/admin/problem.html", context, status=status)


def _marked(response: HttpResponse) -> HttpResponse:
    """Show the characters of a page that hide or turn text as marks: anyone may write text to the ledger."""
    if not response.streaming and response.headers.get("Content-Type", "").startswith("text/html"):
        response.content = marked(response.text).encode()
    return response


def _limit_statements() -> None:
    timeout = round(config.value("rest.db.statementTimeout") * 1000)
    statements.execute(
        "select set_config('statement_timeout', %s, false), set_config('jit', 'off', false)", [str(timeout)]
    )
