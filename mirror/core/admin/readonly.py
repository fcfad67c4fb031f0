"""Read-only pages of tables that only ingest writes: a list, and a page for each row.

Nothing is counted, and rows come in an order that an index delivers. Searches and filters compare columns
that an index begins with. `mirror.core.admin.columns` reads the indexes off the model, so a registration
states only what is particular to its table.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, update_wrapper
from typing import Any, ClassVar

from django.apps import apps
from django.contrib import admin, messages
from django.db import models
from django.db.models import Field, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.views.decorators.http import require_safe

from mirror.core.admin import columns, export
from mirror.core.admin.addresses import api_link, key_condition, key_text, list_url, row_url
from mirror.core.admin.kinds.amounts import read_units
from mirror.core.admin.kinds.base import Choice, InvalidText, link_html
from mirror.core.admin.kinds.bytes import Hex
from mirror.core.admin.kinds.numbers import EnumKind
from mirror.core.admin.lists import ColumnFilter, RowList, UncountedPaginator, conditions
from mirror.core.admin.related import Related, Section, join_on, section
from mirror.core.db.schema.fields import BytesField, ConsensusTimestampField

_COLUMNS_OF_A_LIST = 8
# Longer ones are folded on the page of a row.
_RAW_BYTES = 32


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A table, also one that has a key of several columns or none (see `MirrorAdminSite.register`)."""

    label = ""
    """The rows in plain words, as a heading; the model's name in the plural if empty."""
    singular = ""
    """The same for one row."""
    list_display: Any = ()
    """Columns of the list; the key and the first of the others if empty."""
    search_fields: ClassVar[Any] = None
    """Columns that the search field compares, the likeliest first; those that indexes begin with if None."""
    extra_search = ""
    """What else the search field finds, by `search`."""
    global_search_fields: Sequence[str] = ()
    """Columns that the search of all tables compares."""
    summary_columns: Sequence[str] = ()
    """Columns that its results show besides those of the list."""
    input_filters: Sequence[str] = ()
    """Columns that have a field of their own next to the search field."""
    extra_filters: Mapping[str, type[ColumnFilter]] = {}
    """Filters of columns that no index begins with, by the column: they find another way."""
    related: Sequence[Related] = ()
    history = ""
    """The title of the section of earlier versions, from the table of the same name with History."""
    api_path = ""
    """The path of a row in the API, with `{}` for each column of the key."""
    is_entity = False
    """Whether the key is the id of an entity, to which the page leads."""

    list_per_page = 50
    paginator = UncountedPaginator
    change_list_template = "mirror/admin/list.html"

    def __init__(self, model: type[models.Model], admin_site: admin.AdminSite) -> None:
        super().__init__(model, admin_site)
        self.label = self.label or capfirst(str(self.opts.verbose_name_plural))
        self.singular = self.singular or capfirst(str(self.opts.verbose_name))
        self.list_display = self.list_display or self._first_columns()
        self.ordering = columns.order(model)  # type: ignore[misc]
        if self.history:
            earlier = apps.get_model(self.opts.app_label, f"{model.__name__}History")
            self.related = (
                *self.related,
                Related(earlier, join_on(*columns.key_columns(model)), self.history),
            )
        if self.search_fields is None:
            self.search_fields = columns.leading(model)  # type: ignore[misc]
        self.search_help_text = self._search_help()  # type: ignore[misc]

    @property
    def description(self) -> str:
        """The meaning of a row: the first paragraph of the model's docstring."""
        return str(inspect.getdoc(self.model)).partition("\n\n")[0].replace("\n", " ").replace("`", "")

    # LIST

    def _first_columns(self) -> tuple[str, ...]:
        key, large = self.opts.pk_fields, (BytesField, models.JSONField)
        lean = [each.name for each in self._fields if each in key or not isinstance(each, large)]
        return tuple(lean[:_COLUMNS_OF_A_LIST])

    @property
    def read_columns(self) -> tuple[str, ...]:
        counted = [name for name, kind in columns.kinds(self.model).items() if kind.counts_tokens]
        # An amount needs its token.
        tokens = ["token_id"] if {*counted} & {*self.list_display} and hasattr(self.model, "token_id") else ()
        return tuple(dict.fromkeys((*columns.key_columns(self.model), *self.list_display, *tokens)))

    @property
    def _fields(self) -> list["Field[Any, Any]"]:
        """The columns, those of the key first."""
        key = self.opts.pk_fields
        return [*key, *(each for each in self.opts.concrete_fields if each.column and each not in key)]

    @cached_property
    def headings(self) -> list[tuple[str, str]]:
        """Name and heading of each column of the list; a key of several columns has a link besides."""
        way = [("row", "Row")] if columns.has_composite_key(self.model) else []
        return [
            *way,
            *((name, columns.label(self.opts.get_field(name))) for name in self.list_display),  # type: ignore[arg-type]
        ]

    def cells(self, row: Any) -> list[tuple[str, str, str]]:
        """Return name, heading and HTML of each column of a row in a list."""
        return [(name, label, self._cell(row, name)) for name, label in self.headings]

    def _cell(self, row: Any, name: str) -> str:
        if name == "row":
            return format_html('<a href="{}">View</a>', row_url(row))
        field: Any = self.opts.get_field(name)
        value, kind = field.value_from_object(row), columns.kind(field).of(row)
        if field.primary_key:
            return format_html('<a href="{}">{}</a>', row_url(row), kind.html(value, False))
        return link_html(kind, value, False)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RowList]:
        return RowList

    def get_list_filter(self, request: HttpRequest) -> Any:
        filters = dict.fromkeys(self.input_filters, ColumnFilter) | dict(self.extra_filters)
        return [*(filters | dict.fromkeys(columns.indexed(self.model), ColumnFilter)).items()]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow any: `RowList` refuses columns that no index finds, in words."""
        return True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # Whole rows may have megabytes that a list doesn't show.
        return super().get_queryset(request).only(*self.read_columns)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        context = {"title": self.label, "crumbs": self.breadcrumbs, "description": self.description}
        return super().changelist_view(request, context | {"exports": export.FORMS})

    def export_view(self, request: HttpRequest, form: str) -> HttpResponseBase:
        if form not in export.FORMS:
            raise Http404("There is no such form of export.")
        rows = self.get_changelist_instance(request).queryset
        if refused := " ".join(map(str, messages.get_messages(request))):
            return HttpResponse(refused, status=400, content_type="text/plain")
        try:
            return export.response(rows, self.read_columns, form)
        except export.TooManyExports:
            text = "Other exports run: try again when they are done."
            headers = {"Retry-After": "10"}
            return HttpResponse(text, status=503, content_type="text/plain", headers=headers)

    # SEARCH

    def search(self, text: str) -> Iterable[Q]:
        """Return the conditions that the text may stand for, the likeliest first; each must use an index."""
        yield from self.other_conditions(text)
        yield from conditions(self.model, self.search_fields or (), text)

    def global_search(self, text: str) -> Iterable[Q]:
        """Return the same for the search of all tables."""
        yield from self.other_conditions(text)
        yield from conditions(self.model, self.global_search_fields, text)

    def other_conditions(self, text: str) -> Iterable[Q]:
        """Return the conditions of both searches that come before those of columns."""
        return ()

    def row_summary(self, row: Any) -> str:
        """Return what a row is, for the results of that search."""
        return self.singular

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows of the first condition that finds any: several at once can't use an index."""
        if not (text := search_term.strip()):
            return queryset, False
        candidates = list(self.search(text))
        if not candidates:
            text = f"“{text}” is not something to search for here. {self.search_help_text}"
            messages.error(request, text)
            return queryset.none(), False
        found = (each for each in candidates[:-1] if queryset.filter(each).exists())
        return queryset.filter(next(found, candidates[-1])), False

    def _search_help(self) -> str:
        ways = [self.extra_search] if self.extra_search else []
        for name in self.search_fields or ():
            field: Any = self.opts.get_field(name)
            kind = columns.kind(field)
            # A few named values are offered next to the search field.
            if (example := kind.example) and not isinstance(kind, Choice | EnumKind):
                ways.append(f"{columns.label(field).lower()} ({example})")
        return f"Search for {', '.join(ways)}." if ways else ""

    # ROW

    def facts(self, row: Any) -> Iterator[tuple[str, str]]:
        """Yield label and HTML of each line that comes before the columns on the page of a row."""
        if self.is_entity:
            entities: Any = apps.get_model("ledger", "Entity")._default_manager
            # Index: the primary key (id).
            is_deleted = True in entities.filter(id=row.pk).values_list("deleted", flat=True)[:1]
            link = link_html(columns.ENTITY, row.pk, True)
            yield "Entity", format_html("{} (deleted)", link) if is_deleted else link
        if isinstance(self.opts.pk, ConsensusTimestampField) and self.opts.model_name != "transaction":
            yield "Transaction", link_html(columns.kind(self.opts.pk), row.pk, True)
        if self.api_path:
            yield "In the API", api_link(self.api_path.format(*key_text(row).split(",")))

    def sections(self, row: Any) -> Iterator[Section | None]:
        for related in self.related:
            yield section(related, row, self.admin_site)

    def row_singular(self, row: Any) -> str:
        return self.singular

    def row_title(self, row: Any) -> str:
        return " · ".join(
            columns.kind(field).text(value)
            for field in self.opts.pk_fields
            if (value := field.value_from_object(row)) is not None
        )

    def key_condition(self, key: str) -> Q:
        """Return the condition that finds the row of a key in an address. Errors: InvalidText."""
        return key_condition(self.model, key)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row of a key in an address; where nothing forbids equal rows, the first of them."""
        try:
            rows = self.model._default_manager.filter(self.key_condition(object_id))
            return rows[:1].get()
        except (InvalidText, self.model.DoesNotExist):
            name = f"{self.singular[0].lower()}{self.singular[1:]}"
            raise Http404(
                f"There is no {name} {object_id} here. A node knows what happened since the first record "
                "file that it loaded."
            ) from None

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> TemplateResponse:
        """Show the page of a row: its facts, its columns, which columns are null, and related rows."""
        row = self.get_object(request, object_id)
        read_units([row], columns.kinds(self.model))
        lines, raw = self._lines(row)
        deleted = " (deleted)" if getattr(row, "deleted", False) else ""
        context = {
            **self.admin_site.each_context(request),
            "title": f"{self.row_singular(row)} {self.row_title(row)}{deleted}",
            "description": self.description,
            "crumbs": [*self.breadcrumbs, (self.label, list_url(self.model))],
            "lines": [*self.facts(row), *lines],
            "raw": raw,
            "sections": [section for section in self.sections(row) if section],
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "mirror/admin/row.html", context)

    def _lines(self, row: models.Model) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the columns: what, who, when, how much, then others; and those that are raw bytes."""
        lines: list[tuple[str, str]] = []
        raw: list[tuple[str, str]] = []
        missing: list[str] = []
        key = self.opts.pk_fields
        for field in sorted(self._fields, key=lambda field: -1 if field in key else columns.rank(field)):
            value, kind = field.value_from_object(row), columns.kind(field).of(row)
            if value is None:
                missing.append(columns.label(field))
                continue
            shown = kind.html(value, True) if field is self.opts.pk else link_html(kind, value, True)
            is_raw = type(kind) is Hex and len(value) > _RAW_BYTES
            (raw if is_raw else lines).append((columns.label(field), shown))
        if missing:
            lines.append(("Not given", ", ".join(missing)))
        return lines, raw

    @property
    def breadcrumbs(self) -> list[tuple[str, str]]:
        """The pages above the list: their names and addresses."""
        app = self.opts.app_config
        return [(str(app.verbose_name), reverse("admin:app_list", args=[app.label]))]

    # ACCESS

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"

        def page(view: Any) -> Any:
            return update_wrapper(require_safe(self.admin_site.admin_view(view)), view)

        return [
            path("", page(self.changelist_view), name=f"{name}_changelist"),
            path("export.<str:form>", page(self.export_view), name=f"{name}_export"),
            path("<path:object_id>/", page(self.change_view), name=f"{name}_change"),
        ]

    def _refused(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = _refused

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow everyone who may sign in: the API shows the same rows to anyone."""
        return self.admin_site.has_permission(request)

    has_module_permission = has_view_permission


class HistoryAdmin(ReadOnlyAdmin):
    """The earlier versions of the rows of another table, which is registered before it."""

    singular = "Earlier version of"

    def __init__(self, model: type[models.Model], admin_site: admin.AdminSite) -> None:
        current = apps.get_model(model._meta.app_label, model.__name__.removesuffix("History"))
        page: Any = admin_site.get_model_admin(current)
        self.label = f"{page.label}: history"
        super().__init__(model, admin_site)
