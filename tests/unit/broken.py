"""Exceptions as projects write them: with arguments of their own, with attributes, or broken outright."""

from __future__ import annotations

from typing import Any


class Declined(Exception):
    """Its constructor asks for two arguments, and hands one on."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class Careful(Exception):
    """Says itself how to make it again."""

    made = 0

    def __init__(self, code: int, *, hint: str = "") -> None:
        type(self).made += 1
        super().__init__(f"code {code}")
        self.code = code
        self.hint = hint

    def __reduce__(self) -> Any:
        return type(self), (self.code,), {"hint": self.hint}


class Brief(Careful):
    def __reduce__(self) -> Any:
        return type(self), (self.code,)


class Evasive(Careful):
    def __reduce__(self) -> Any:
        raise RuntimeError("not to be copied")


class Disguised(Careful):
    def __reduce__(self) -> Any:
        return ValueError, ("another",)


class Shifty(Careful):
    """Its class makes something else of what it was taken apart into."""

    def __new__(cls, code: int, *, hint: str = "") -> Any:
        return super().__new__(cls, code) if hint else ValueError(code)

    def __reduce__(self) -> Any:
        return type(self), (self.code,)


class Slotted(Exception):
    __slots__ = ("code", "never_set")
    __hash__ = Exception.__hash__

    def __init__(self, code: int) -> None:
        super().__init__("slotted")
        self.code = code


class OneSlot(Slotted):
    __slots__ = "extra"
    extra: str


class Renamed(Exception):
    pass


class Broken(Exception):
    """Raises when it is shown, in every way."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Bytes(Exception):
    def __str__(self) -> Any:
        return b"bytes"


class Unapproachable(Exception):
    """Raises when its parts are looked at."""

    @property
    def __cause__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no cause")


class Group(ExceptionGroup[Exception]):
    pass
