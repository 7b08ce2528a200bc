"""Whoever writes async code finds a twin of every door that reads or writes the database."""

from __future__ import annotations

import inspect

import pytest

import django_durable
from django_durable import control
from django_durable.declare import Debounced, Enqueuer, Step, Workflow
from django_durable.engine.handle import Handle

READS_NOTHING = {
    django_durable: {"step", "step_context", "workflow", "workflow_id"},
    control: {"handle"},
    Enqueuer: {"debounce", "using"},
    Workflow: {"debounce", "using", "name", "call"},
    Debounced: set(),
    Step: {"name"},
    Handle: {"using"},
}
WITHOUT_A_TWIN = {
    control: {"replay"},  # runs a whole body on the caller's thread: a tool for shells and tests
    Handle: {"seen"},  # is itself what retrieve() and its twin run
}
PLACES = list(READS_NOTHING)


def doors(place):
    members = vars(place) if inspect.ismodule(place) else dict(inspect.getmembers(place))
    return {name for name, value in members.items() if is_door(place, name, value)}


def is_door(place, name, value):
    if inspect.ismodule(place):
        declared_here = getattr(value, "__module__", "").startswith(("django_durable.api", place.__name__))
        return inspect.isroutine(value) and not name.startswith("_") and declared_here
    if name == "__call__":
        return inspect.isfunction(value)
    return (inspect.isfunction(value) or isinstance(value, property)) and not name.startswith("_")


def twin_of(name):
    return "acall" if name == "__call__" else f"a{name}"


def lacking(place):
    found = doors(place)
    blocking = {name for name in found if not (name[0] == "a" and (name[1:] in found or name == "acall"))}
    excused = READS_NOTHING[place] | WITHOUT_A_TWIN.get(place, set())
    return {name for name in blocking - excused if twin_of(name) not in found}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_every_blocking_door_has_its_async_twin(place):
    assert lacking(place) == set()


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_no_exception_outlives_its_door(place):
    assert READS_NOTHING[place] | WITHOUT_A_TWIN.get(place, set()) <= doors(place) | {"step", "workflow"}


def test_a_missing_twin_is_told(monkeypatch):
    monkeypatch.delattr(control, "apause")
    monkeypatch.delattr(Handle, "astatus")
    assert (lacking(control), lacking(Handle)) == ({"pause"}, {"status"})


def test_a_twin_bears_the_name_under_which_it_is_found():
    for place in PLACES:
        for name in doors(place):
            if twin_of(name) in doors(place):
                assert getattr(place, twin_of(name)).__name__ == twin_of(name)
