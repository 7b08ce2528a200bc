"""What a drained body activates ends with its run, as in the slot of a worker."""

from __future__ import annotations

from contextvars import ContextVar

import pytest
from django.utils import timezone, translation

from django_durable import step, workflow
from django_durable.engine.declared import workflows
from django_durable.testing import drain

pytestmark = pytest.mark.django_db
tenant = ContextVar("tenant", default="nobody")


@step
def as_a_step_sees_it():
    return as_it_is()


def as_it_is():
    return (tenant.get(), translation.get_language(), timezone.get_current_timezone_name())


def activate():
    tenant.set("acme")
    translation.activate("de")
    timezone.activate("Asia/Tokyo")
    return as_a_step_sees_it()


async def aactivate():
    tenant.set("acme")
    translation.activate("de")
    timezone.activate("Asia/Tokyo")
    return await as_a_step_sees_it.acall()


@pytest.fixture(params=[activate, aactivate], ids=["blocking", "async"])
def activates(request):
    made = workflow(name="contexts.activates")(request.param)
    yield made
    workflows.remove(made.declaration)


@pytest.fixture
def looks():
    made = workflow(name="contexts.looks")(as_it_is)
    yield made
    workflows.remove(made.declaration)


def test_neither_the_next_run_nor_the_test_sees_it(activates, looks):
    before = as_it_is()
    first, second = activates.enqueue(), looks.enqueue()
    drain()
    assert first.result() == ("acme", "de", "Asia/Tokyo")
    assert second.result() == before
    assert as_it_is() == before
