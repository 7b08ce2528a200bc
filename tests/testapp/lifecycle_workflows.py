"""Workflows that leave traces of every moment at which their worker may be killed."""

from __future__ import annotations

import time

from django.db import OperationalError

from django_durable import step, workflow, workflow_id
from tests.testapp.models import Ledger, Probe

GATE = "gate"
LONGEST = 60.0  # seconds until a gate that nobody opens fails its step
GLANCE = 0.01


@step(max_attempts=5, interval=0.05, retry_on=OperationalError)
def trace(place: str) -> str:
    """An effect beside the transactions. Its own connection may be cut: a failure like any other."""
    Probe.note(str(workflow_id()), place)
    return place


@step(atomic=True)
def enter_ledger(place: str) -> str:
    Ledger.objects.create(run_id=str(workflow_id()), step=place)
    return place


@step
def pass_gate(gate: str, place: str = GATE) -> str:
    """Note the arrival, and wait until the gate is open."""
    run = str(workflow_id())
    Probe.note(run, place, "enter")
    until = time.monotonic() + LONGEST
    while not Probe.objects.filter(run_id=gate, ev="open").exists():
        if time.monotonic() > until:
            raise TimeoutError(f"gate {gate!r} stayed shut")
        time.sleep(GLANCE)
    Probe.note(run, place, "exit")
    return gate


@workflow(name="lifecycle.six_steps")
def six_steps() -> list[str]:
    return [
        trace("one"),
        enter_ledger("two"),
        trace("three"),
        trace("four"),
        enter_ledger("five"),
        trace("six"),
    ]


@workflow(name="lifecycle.gated")
def gated(gate: str) -> list[str]:
    """One step before the gate, and one behind it."""
    return [trace("before"), pass_gate(gate), trace("behind")]


@workflow(name="lifecycle.gated_books")
def gated_books(gate: str) -> str:
    """Between the gate and the end, one atomic step."""
    pass_gate(gate)
    return enter_ledger("behind")
