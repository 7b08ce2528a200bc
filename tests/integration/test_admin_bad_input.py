"""Whatever stands in an address or a form of the admin, it is answered: what no row can hold is not found."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.admin.utils import quote as key

from django_durable.models import Limit, Queue
from tests.factories import ExecutorFactory, LimitFactory, QueueFactory, WorkflowFactory

pytestmark = pytest.mark.django_db

MODELS: dict[str, Any] = {
    "workflowstatus": WorkflowFactory,
    "queue": QueueFactory,
    "limit": LimitFactory,
    "executor": ExecutorFactory,
}
OF_MODELS = {
    "workflowstatus": ["cancel", "resume", "retry"],
    "queue": ["pause", "unpause", "delete_selected"],
    "limit": ["delete_selected"],
    "executor": [],
}
ACTIONS = [(model, action) for model, some in OF_MODELS.items() for action in some]
NUL = "a\0b"
ODD: list[Any] = [
    NUL,
    "",
    " ",
    "\udcff".encode("utf-8", "surrogatepass"),
    "x" * 300,
    "'; --",
    "<b>x</b>",
    "9" * 5000,
    "NaN",
]
LENGTHS = ["NaN", "1e999", "-1s", "9" * 5000, NUL, "<b>x</b>"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("page", ["change", "history", "delete"])
def test_a_row_that_cannot_be_there_is_not_found(admin_client, model, page):
    response = admin_client.get(f"/admin/durable/{model}/{quote(key(NUL))}/{page}/", follow=True)
    assert response.status_code in (200, 403, 404)
    assert response.request["PATH_INFO"] == "/admin/" or response.status_code != 200


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["q", "status", "queue", "name", "pk__in", "p", "o", "all"])
def test_a_list_takes_any_address(admin_client, model, name):
    MODELS[model].create()
    for value in ODD:
        response = admin_client.get(f"/admin/durable/{model}/?{name}={quote(value)}", follow=True)
        assert response.status_code in (200, 400), value
        assert b"<b>x</b>" not in response.content


@pytest.mark.parametrize(("model", "action"), ACTIONS)
def test_of_rows_that_are_chosen_one_that_cannot_be_there_is_none(admin_client, model, action):
    row = MODELS[model].create()
    for chosen, found in (([NUL], 0), ([NUL, row.pk], 1)):
        form = {"action": action, "_selected_action": chosen, "post": "yes"}
        response = admin_client.post(f"/admin/durable/{model}/", form, follow=True)
        assert response.status_code == 200
        told = " ".join(str(message) for message in response.context["messages"])
        assert ("Items must be selected" in told) == (not found)


@pytest.mark.parametrize("name", ["", " ", NUL, "x" * 300, "a\nb", "<b>x</b>" * 40])
def test_a_name_that_no_queue_or_limit_can_have_comes_back_with_an_error(admin_client, name):
    limit = {"key": name, "max_running": 1, "max_starts": "", "window": ""}
    for model, form in (("queue", {"name": name}), ("limit", limit)):
        response = admin_client.post(f"/admin/durable/{model}/add/", form)
        assert response.status_code == 200
        assert response.context["adminform"].errors
        assert b"<b>x</b>" not in response.content
    assert not Limit.objects.exists()
    assert Queue.objects.count() <= 1


@pytest.mark.parametrize("length", LENGTHS)
def test_a_length_that_is_none_comes_back_with_an_error(admin_client, length):
    form = {"key": "k", "max_running": "", "max_starts": 1, "window": length}
    response = admin_client.post("/admin/durable/limit/add/", form)
    assert response.context["adminform"].errors
    assert b"<b>x</b>" not in response.content
