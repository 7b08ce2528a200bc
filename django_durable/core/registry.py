"""Name → declaration of every workflow function; a second function under a name is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from django_durable.exceptions import DuplicateDeclaration, UnknownWorkflow


class Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def aliases(self) -> Iterable[str]: ...
    @property
    def origin(self) -> str: ...


D = TypeVar("D", bound=Named)


class Registry(Generic[D]):
    """A declaration may be registered again from the same place: a module reload is no conflict."""

    def __init__(self) -> None:
        self._declared: dict[str, D] = {}

    def add(self, declaration: D) -> None:
        names = (declaration.name, *declaration.aliases)
        for name in names:
            self._refuse_other_owner(name, declaration)
        for name in names:
            self._declared[name] = declaration

    def get(self, name: str) -> D:
        try:
            return self._declared[name]
        except KeyError:
            raise UnknownWorkflow(name) from None

    def remove(self, declaration: D) -> None:
        for name in (declaration.name, *declaration.aliases):
            if self._declared.get(name) is declaration:
                del self._declared[name]

    def __contains__(self, name: str) -> bool:
        return name in self._declared

    def __iter__(self) -> Iterator[D]:
        return iter({id(declaration): declaration for declaration in self._declared.values()}.values())

    def _refuse_other_owner(self, name: str, declaration: D) -> None:
        owner = self._declared.get(name)
        if owner is not None and owner.origin != declaration.origin:
            raise DuplicateDeclaration(
                f"two workflow functions claim the name {name!r}: {owner.origin} and {declaration.origin}; "
                "give one of them another name= or remove the alias"
            )
