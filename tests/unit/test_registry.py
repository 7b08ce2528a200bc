"""One name, one function."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from django_durable.core.registry import Registry
from django_durable.exceptions import DuplicateDeclaration, UnknownWorkflow


class Declared(NamedTuple):
    name: str
    aliases: tuple[str, ...] = ()
    origin: str = "shop.workflows.fulfil"


@pytest.fixture
def registry():
    return Registry[Declared]()


def test_a_function_is_found_by_its_name_and_its_former_names(registry):
    fulfil = Declared("fulfil", ("ship", "send"))
    registry.add(fulfil)
    assert all(registry.get(name) is fulfil and name in registry for name in ("fulfil", "ship", "send"))
    assert list(registry) == [fulfil]


def test_a_module_that_is_loaded_again_declares_its_functions_anew(registry):
    registry.add(Declared("fulfil"))
    again = Declared("fulfil")
    registry.add(again)
    assert registry.get("fulfil") is again
    assert list(registry) == [again]


@pytest.mark.parametrize(
    "other", [Declared("fulfil", origin="b"), Declared("x", ("fulfil",), "b"), Declared("ship", (), "b")]
)
def test_a_second_function_under_a_name_is_refused_with_both_places_and_changes_nothing(registry, other):
    first = Declared("fulfil", ("ship",), "a")
    registry.add(first)
    with pytest.raises(DuplicateDeclaration) as refused:
        registry.add(other)
    assert "a and b" in str(refused.value)
    assert list(registry) == [first]
    assert "x" not in registry


def test_a_name_that_nobody_declared_says_where_declarations_are_looked_for(registry):
    with pytest.raises(UnknownWorkflow, match=r"workflows\.py or tasks\.py"):
        registry.get("nothing")


def test_what_is_removed_is_gone_under_all_its_names(registry):
    fulfil = Declared("fulfil", ("ship",))
    registry.add(fulfil)
    registry.remove(fulfil)
    assert "fulfil" not in registry
    assert "ship" not in registry
    registry.remove(fulfil)


def test_removing_a_former_declaration_leaves_its_successor(registry):
    former, successor = Declared("fulfil", ("old",)), Declared("fulfil")
    registry.add(former)
    registry.add(successor)
    registry.remove(former)
    assert list(registry) == [successor]
