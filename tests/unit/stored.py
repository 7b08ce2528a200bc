"""Values of every storable kind, the classes they are of, and what it means that one came back."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from collections import namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

Content = TypeVar("Content")
MAX_BYTES = 8 * 1024 * 1024


class Colour(enum.Enum):
    RED = "r"
    CRIMSON = "r"  # noqa: PIE796 - an alias, which must come back as the member it stands for
    NONE = None


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Kind(enum.StrEnum):
    CARD = "card"


class Right(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


class Point(NamedTuple):
    x: Any
    y: Any = 0


class Tagged(Point):
    """A named tuple's subclass without __slots__: its instances can hold more than fields."""


Pair = namedtuple("Pair", ["left", "right"])


@dataclasses.dataclass
class Money:
    amount: Any
    currency: str = "EUR"
    history: list[Any] = dataclasses.field(default_factory=list)

    class Kind(enum.Enum):
        NET = 1

    @functools.cached_property
    def doubled(self) -> Any:
        return lambda: self.amount * 2


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    key: Any

    def __post_init__(self) -> None:
        if self.key == "never":
            raise AssertionError("no constructor runs when a value is read")


@dataclasses.dataclass
class Loaded(dict):  # type: ignore[type-arg]
    size: int = 0


@dataclasses.dataclass
class Box(Generic[Content]):
    held: Content


class Plain:
    """Not a dataclass, nor anything else that is stored."""


class Quiet:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


def same(left: Any, right: Any) -> bool:
    """Equal in value and in every type, order and zone below; NaN is itself."""
    if type(left) is not type(right):
        return False
    if dataclasses.is_dataclass(left):
        return all(same(getattr(left, f.name), getattr(right, f.name)) for f in dataclasses.fields(left))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        return len(left) == len(right) and all(any(same(a, b) for b in right) for a in left)
    if isinstance(left, datetime | time):
        return _moment(left) == _moment(right)
    if isinstance(left, float):
        return repr(left) == repr(right) and math.copysign(1, left) == math.copysign(1, right)
    return str(left) == str(right) if isinstance(left, Decimal) else bool(left == right)


def _moment(moment: datetime | time) -> tuple[Any, ...]:
    zone = moment.tzinfo
    named = zone.tzname(None) if isinstance(zone, timezone) else str(zone)
    return moment.isoformat(), moment.fold, type(zone), named


SURROGATES = ["\ud800", "\udcff", "\udc00\ud800", "\ud83d\ude00", "a\ud83d\ude00\ud83d\ude00\udc00é", "\x00"]
texts = st.one_of(
    st.text(), st.sampled_from([*SURROGATES, "$", "v", '"$"', "\\u0024", "\u2028", "\U0001f600"])
)
zones = st.one_of(
    st.none(),
    st.just(UTC),
    st.timedeltas(min_value=timedelta(hours=-23), max_value=timedelta(hours=23)).map(timezone),
    st.just(timezone(timedelta(hours=1), "home")),
    st.sampled_from(
        ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu"]
    ).map(ZoneInfo),
)
singles = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    # their powers only now: an int that long has no repr
    st.sampled_from([(10, 400), (10, 5000), (-7, 9001), (2, 2126), (2, 2127)]).map(lambda power: pow(*power)),
    st.floats(),
    texts,
    st.datetimes(timezones=zones),
    st.builds(lambda moment: moment.replace(fold=1), st.datetimes(timezones=zones)),
    st.dates(),
    st.times(timezones=zones),
    st.timedeltas(),
    st.decimals(),
    st.sampled_from(
        [Decimal("NaN"), Decimal("sNaN123"), Decimal("-Infinity"), Decimal("1.10E+5"), Decimal("-0")]
    ),
    st.uuids(),
    st.binary(),
    st.binary().map(bytearray),
    st.sampled_from([*Colour, *Level, *Kind, Right.READ, Right.READ | Right.WRITE, Right(0), Money.Kind.NET]),
)
hashables = st.one_of(
    *(st.none(), st.booleans(), st.integers(), texts, st.dates(), st.uuids(), st.binary()),
    *(st.sampled_from([*Colour, *Level]), st.tuples(st.integers(), texts), st.builds(Frozen, st.integers())),
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(texts, inner, max_size=4),
        st.dictionaries(hashables, inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.builds(Point, inner, inner),
        st.builds(Pair, inner, inner),
        st.builds(Money, inner, texts),
        st.builds(Frozen, inner),
        st.sets(hashables, max_size=4),
        st.frozensets(hashables, max_size=4),
    )


values = st.recursive(singles, _nested, max_leaves=12)
plain_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(min_size=2), inner)),
    max_leaves=12,
)
EXAMPLES: list[Any] = [
    *(
        [],
        {},
        (),
        set(),
        frozenset(),
        "",
        0,
        False,
        None,
        b"",
        -0.0,
        -math.nan,
        1e22,
        5e-324,
        date.min,
        datetime.max,
        timedelta.max,
    ),
    {"$": "datetime", "v": "2026-01-01"},
    {"$": {"$": {"$": 1}}},
    {1: "a", "1": "b", None: "d", "None": "e", 2.5: "f", (1, "x"): "g", b"k": "h"},
    {"b": 1, "a": 2, "aa": 3},
    UUID(int=0),
    {"\ud83d\ude00": 1, "\U0001f600": 2},
    [datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=ZoneInfo("Europe/Berlin"))],
    datetime(2027, 10, 31, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
]
