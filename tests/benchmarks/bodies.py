"""Workflows to measure with, declared in the benchmark and in its workers."""

from __future__ import annotations

from django_durable import sleep, step, workflow

STEPS = 5


@step
def nothing(number: int) -> int:
    return number


@workflow(name="benchmarks.steps")
def steps(count: int) -> int:
    return sum(nothing(number) for number in range(count))


@workflow(name="benchmarks.sleeper")
def sleeper(seconds: float) -> None:
    sleep(seconds)


@workflow(name="benchmarks.parent")
def parent(depth: int) -> int:
    return 1 if depth == 0 else int(parent(depth - 1)) + 1
