"""Query parameters declared as data: one class per endpoint, one attribute per parameter.

    class BlockParameters(classic.PageParameters):
        block_number = classic.BlockNumber("block.number", column="index", operators=WITHOUT_NE)
        timestamp = classic.Timestamp("timestamp", column="consensus_end")

An instance is a request's parameters, read and checked: `parameters.limit` is a number,
`parameters.block_number` a list of Comparison in the order of the request. Each parameter narrows the query
(mirror.core.db.reading.query), as ParameterBackend has it do for every request: one that names a column by
its conditions, `order` by the direction, `limit` by the number of rows. From the same declaration come the
error messages, the links (mirror.core.rest.paging) and the OpenAPI description.

A parameter set is a django-filter FilterSet, and a parameter is a Filter. Texts are read here and not by the
form that a FilterSet builds for each request: that takes 260 microseconds for four parameters, this takes 10.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, overload

from django_filters import Filter
from django_filters.filterset import BaseFilterSet, FilterSetMetaclass

from mirror.core import config
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Comparison, compare
from mirror.core.rest.answers.errors import BadRequest, Failure
from mirror.core.rest.parameters.query_string import UNUSABLE, Texts, classic_query

OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte")
ALL = frozenset(OPERATORS)
ONLY_EQ = frozenset({"eq"})
WITHOUT_NE = ALL - {"ne"}

T = TypeVar("T")


class InvalidValue(ValueError):
    """The value of a parameter is invalid, or the operator unsupported."""


class InvalidValueMessage(InvalidValue):
    """The same, reported to the client in the words of this error."""


class Parameter(Filter, Generic[T]):
    """One query parameter. `T` is what an instance of the parameter set holds for it.

    `column`: the column that the parameter narrows. `operators`: those accepted. `any_equal`: whether several
    equalities are alternatives or must all hold.
    """

    #: The JSON schema of a value without operator, for the API description.
    schema: ClassVar[dict[str, Any]] = {"type": "string"}
    #: Whether the request may narrow by several values; otherwise the last one counts.
    many: ClassVar[bool] = True
    #: The least number there is, if a request for less is an error; then no link asks for less either.
    minimum: ClassVar[int | None] = None
    #: Whether a link leaves out the values named by eq that have been listed; otherwise it repeats them.
    pages_equal: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        *,
        column: str | None = None,
        operators: frozenset[str] = ALL,
        any_equal: bool = True,
        help: str = "",
    ) -> None:
        super().__init__(field_name=name, label=help)
        self.name, self.column, self.help = name, column, help
        self.operators, self.any_equal = operators, any_equal

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> "Parameter[T]": ...
        @overload
        def __get__(self, instance: object, owner: type) -> T: ...
        def __get__(self, instance: object | None, owner: type) -> Any: ...

    def read(self, text: str) -> Any:
        """Return the value of the text after the operator.

        Errors: InvalidValue; a Failure when the form is right but the value means nothing. That is reported
        alone, and only if everything else is well-formed.
        """
        raise NotImplementedError

    def absent(self) -> Any:
        """Return what the instance holds when the request doesn't name the parameter."""
        return []

    def comparison(self, text: str, split: Callable[[str], tuple[str, str]]) -> Comparison:
        operator, value = split(text)
        if operator not in self.operators or UNUSABLE in value:
            raise InvalidValue(text)
        return Comparison(operator, self.read(value))

    def combined(self, comparisons: list[Comparison]) -> Any:
        """Return what the instance holds for the values of a request."""
        return comparisons if self.many else comparisons[-1].value

    def filter(self, query: Query, value: Any) -> Query:  # type: ignore[override]
        """Narrow the query by what the instance holds: django-filter's contract."""
        if self.column is None or value is None or value == []:
            return query
        comparisons = value if self.many else [Comparison("eq", value)]
        return query.filter(compare(self.column, comparisons, any_equal=self.any_equal))

    @property
    def most_values(self) -> int:
        """How often a request may repeat a parameter whose values all count."""
        return int(config.value("rest.query.maxRepeatedQueryParameters"))

    def described(self) -> dict[str, Any]:
        """Describe the parameter for OpenAPI."""
        schema = dict(self.schema)
        if self.many:
            schema = {"type": "array", "items": self._with_operators(schema), "maxItems": self.most_values}
        elif (default := self.default_value()) is not None:
            schema["default"] = default
        return {
            "name": self.name,
            "in": "query",
            "required": False,
            "description": self.help,
            "schema": schema,
        }

    def default_value(self) -> Any:
        """Return the meaning of an absent parameter, as a request would write it."""
        return self.absent()

    def _with_operators(self, schema: dict[str, Any]) -> dict[str, Any]:
        if self.operators == ONLY_EQ or "enum" in schema:
            return schema
        value = r"\d{1,19}" if schema["type"] == "integer" else schema.get("pattern", "^.+$")[1:-1]
        operators = "|".join(operator for operator in OPERATORS if operator in self.operators)
        return {"type": "string", "pattern": f"^(({operators}):)?({value})$"}


def split_last(text: str) -> tuple[str, str]:
    """Return (operator, value): the last two parts between colons. Anything before them is ignored."""
    head, colon, value = text.rpartition(":")
    return (head.rpartition(":")[2], value) if colon else ("eq", value)


def split_two(text: str) -> tuple[str, str]:
    """Return (operator, value). More than one colon is not accepted."""
    head, colon, value = text.rpartition(":")
    if ":" in head:
        raise InvalidValue(text)
    return (head, value) if colon else ("eq", value)


def reject_ne(comparisons: Iterable[Comparison], message: str) -> None:
    """Refuse the operator ne. Errors: BadRequest with this message."""
    if any(comparison.operator == "ne" for comparison in comparisons):
        raise BadRequest(message)


class ParameterSet(BaseFilterSet, metaclass=FilterSetMetaclass):
    """The parameters of a classic endpoint. An instance is those of one request.

    `strict` endpoints differ in two ways: a value has at most one colon, and problems are reported in the
    order of the request, an unknown name once. The others report invalid values first, then unknown names,
    each time they occur.

    Errors: BadRequest with all problems together.
    """

    strict: ClassVar[bool] = False

    #: Attribute -> parameter.
    declared: ClassVar[dict[str, Parameter[Any]]]
    #: Name in the request -> attribute and parameter.
    by_name: ClassVar[dict[str, tuple[str, Parameter[Any]]]]

    #: Names in the request that are no parameter's, where these are no error.
    unknown: Sequence[str] = ()

    #: The parameters as they were sent.
    texts: Texts
    path: str
    limit: Any
    order: Any

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.declared = cast(dict[str, Parameter[Any]], dict(cls.declared_filters))
        cls.by_name = {parameter.name: (key, parameter) for key, parameter in cls.declared.items()}

    def __init__(self, texts: Texts, path: str = "") -> None:
        self.texts, self.path = texts, path
        for key, parameter in self.declared.items():
            if parameter.name not in texts:
                setattr(self, key, parameter.absent())
        if texts:
            self._read(texts)

    #: Splits a query string into names and texts.
    split_query = staticmethod(classic_query)

    def _read(self, sent: Texts) -> None:
        split = split_two if self.strict else split_last
        in_order: list[str] = []
        invalid: list[str] = []
        unknown: list[str] = []
        meaningless: Failure | None = None
        for name, texts in sent.items():
            if name not in self.by_name:
                times = 1 if self.strict else len(texts)
                (in_order if self.strict else unknown).extend([f"Unknown query parameter: {name}"] * times)
                continue
            key, parameter = self.by_name[name]
            comparisons = []
            for text in texts:
                try:
                    comparisons.append(parameter.comparison(text, split))
                except InvalidValue as error:
                    message = (
                        str(error) if isinstance(error, InvalidValueMessage) else f"Invalid parameter: {name}"
                    )
                    (in_order if self.strict else invalid).append(message)
                except Failure as failure:
                    meaningless = meaningless or failure
            if len(comparisons) == len(texts):
                setattr(self, key, parameter.combined(comparisons))
        if problems := [*in_order, *invalid, *unknown]:
            raise BadRequest(*problems)
        if meaningless is not None:
            raise meaningless

    @classmethod
    def described(cls) -> list[dict[str, Any]]:
        """Describe the parameters for OpenAPI."""
        return [cls.by_name[name][1].described() for name in sorted(cls.by_name)]

    @property
    def descending(self) -> bool:
        return bool(self.order == "desc")

    def filter_queryset(self, query: Query) -> Query:  # type: ignore[override]
        """Narrow the query by each parameter: django-filter's contract."""
        for key, parameter in self.declared.items():
            query = parameter.filter(query, getattr(self, key))
        return query


class NoParameters(ParameterSet):
    """No query parameters: any is unknown."""

    strict = True
