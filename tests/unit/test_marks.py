"""What other code is told of a step by looking at it, as asgiref and Django do."""

from __future__ import annotations

import warnings

from asgiref.sync import async_to_sync, iscoroutinefunction, sync_to_async

from django_durable import step


@step
async def fetch(number):
    return number


@step
def load(number):
    return number


async def loaded(number):
    return await sync_to_async(load)(number)


def test_an_async_step_is_a_coroutine_function_and_another_is_none():
    assert [iscoroutinefunction(each) for each in (fetch, load, load.acall, fetch.acall)] == [
        True,
        False,
        True,
        True,
    ]


def test_a_step_outside_of_a_body_goes_through_the_bridges_of_asgiref():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert async_to_sync(fetch)(5) == 5
        assert async_to_sync(loaded)(5) == 5
