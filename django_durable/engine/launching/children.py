"""Runs that a body starts: their rows and the parent's record of them commit together."""

from __future__ import annotations

from datetime import datetime

from django_durable.core.options import Options
from django_durable.engine.execution.context import WorkflowContext, current, required
from django_durable.engine.execution.drive import perform
from django_durable.engine.execution.effects import Done, effect
from django_durable.engine.execution.operations import Operation, Raised, at_once
from django_durable.engine.handle import Handle
from django_durable.engine.launching import launcher
from django_durable.engine.launching.launcher import Call
from django_durable.engine.waits.results import await_result
from django_durable.engine.waits.waiting import begin
from django_durable.exceptions import OutsideWorkflow

ENQUEUE = "durable.enqueue"
ENQUEUE_MANY = "durable.enqueue_many"


def enqueue(name: str, options: Options, call: Call, *, door: str = "enqueue()") -> Handle:
    """Put a run in line; inside a body, as its child and a recorded step of it."""
    return perform(door, lambda: _begin(name, options, call))


def enqueue_many(name: str, options: Options, calls: list[Call]) -> list[Handle]:
    return perform("enqueue_many()", lambda: _begin_many(name, options, calls))


def call(name: str, options: Options, call: Call, *, is_async: bool, instead: str) -> object:
    """Start a child and wait for its result; the parent leaves its worker meanwhile."""
    if current() is None:
        raise OutsideWorkflow(f"{name}() starts a child and waits for it, so it")
    return perform(f"{name}()", lambda: _begin_call(name, options, call), is_async=is_async, instead=instead)


def _begin(name: str, options: Options, call: Call) -> Operation:
    context = current()
    if context is None:
        return at_once(lambda: launcher.enqueue(name, options, call))
    return _as_handle(_start(context, name, options, call))


def _begin_many(name: str, options: Options, calls: list[Call]) -> Operation:
    context = current()
    if context is None:
        return at_once(lambda: launcher.enqueue_many(name, options, calls))
    if options.id is not None or options.deduplication_id is not None:
        launcher.refuse_shared_identity()
    inherited = _inherited(context, options)

    def do(number: int) -> Done:
        return Done(launcher.enqueue_children(name, inherited, calls, (context.run.id, number)))

    return _as_handles(effect(context, ENQUEUE_MANY, do))


def _begin_call(name: str, options: Options, call: Call) -> Operation:
    context = required(name)
    begin(context, f"{name}()")
    start = _start(context, name, options, call)
    return _wait_for(context, start, context.take_number())


def _wait_for(context: WorkflowContext, start: Operation, number: int) -> Operation:
    started = yield from start
    if isinstance(started, Raised):
        return started
    return (yield from await_result(context, number, started))


def _start(context: WorkflowContext, name: str, options: Options, call: Call) -> Operation:
    inherited = _inherited(context, options)

    def do(number: int) -> Done:
        child = launcher.enqueue_child(name, inherited, call, (context.run.id, number))
        return Done(child.id, child=child.id)

    return effect(context, ENQUEUE, do)


def _inherited(context: WorkflowContext, options: Options) -> Options:
    """The parent's deadline as the same instant, unless `timeout=None` declined it."""
    if context.run.deadline is None or not options.inherits_deadline:
        return options
    own: datetime | None = options.deadline
    nearest = context.run.deadline if own is None else min(own, context.run.deadline)
    return options.changed(deadline=nearest)


def _as_handle(operation: Operation) -> Operation:
    started = yield from operation
    return started if isinstance(started, Raised) else Handle(started)


def _as_handles(operation: Operation) -> Operation:
    started = yield from operation
    return started if isinstance(started, Raised) else [Handle(each) for each in started]
