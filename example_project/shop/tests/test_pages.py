"""The shop's pages, as a customer's browser asks for them."""

from __future__ import annotations

import re

from django.contrib.auth.models import User
from django.http import HttpResponseBase
from django.test import TestCase

from django_durable.models import WorkflowStatus
from shop import counter
from shop.models import CatalogueImport, Order, Product
from shop.tests.shelves import order_of, window


class ShopTests(TestCase):
    heathrow: Product

    @classmethod
    def setUpTestData(cls) -> None:
        cls.heathrow = window()[0]

    def buy(self, **changes: object) -> HttpResponseBase:
        form = {"quantity": 2, "email": "ada@example.com", "card": "works", **changes}
        return self.client.post(self.heathrow.get_absolute_url(), form)

    def test_the_window_shows_the_prints_in_its_order(self) -> None:
        page = self.client.get("/")
        self.assertContains(page, "London Heathrow Airport")
        assert [product.code for product in page.context["page"]][:3] == ["LHR", "JFK", "HND"]

    def test_a_search_finds_by_code_name_and_town(self) -> None:
        for words, code in {"jfk": "JFK", "london heathrow": "LHR", "reykjavik": "KEF"}.items():
            with self.subTest(words):
                assert [found.code for found in self.client.get("/", {"q": words}).context["page"]] == [code]

    def test_a_search_for_a_null_character_is_an_empty_search(self) -> None:
        assert self.client.get("/", {"q": "\x00"}).status_code == 200

    def test_an_order_puts_its_workflow_in_line(self) -> None:
        answer = self.buy()
        order = Order.objects.get()
        self.assertRedirects(answer, order.get_absolute_url())
        assert order.total == 2 * self.heathrow.price
        workflow = WorkflowStatus.objects.get(pk=order.workflow_id)
        assert (workflow.name, workflow.queue, workflow.status) == ("shop.fulfil", "orders", "ENQUEUED")

    def test_a_bad_form_orders_nothing(self) -> None:
        for change in ({"quantity": 0}, {"quantity": 21}, {"email": "ada"}, {"card": "gold"}):
            with self.subTest(change):
                assert self.buy(**change).status_code == 200
        assert not Order.objects.exists()
        assert not WorkflowStatus.objects.exists()

    def test_an_order_tells_how_far_it_is(self) -> None:
        order = counter.place_order("ada@example.com", "works", [(self.heathrow, 1)])
        page = self.client.get(order.get_absolute_url())
        self.assertContains(page, "Take the prints off the shelf")
        self.assertContains(page, "Queued")
        told = self.client.get(f"{order.get_absolute_url()}progress.json").json()
        assert not told["ended"]
        assert {stage["state"] for stage in told["stages"]} == {"ahead"}

    def test_an_order_whose_workflow_was_pruned_still_has_a_page(self) -> None:
        self.assertContains(
            self.client.get(order_of(self.heathrow).get_absolute_url()), "may have been pruned"
        )

    def test_what_a_customer_wrote_is_shown_as_text(self) -> None:
        page = self.client.get("/", {"q": "<script>alert(1)</script>"})
        self.assertNotContains(page, "<script>alert")

    def test_staff_find_the_workflow_of_an_order_in_the_admin(self) -> None:
        self.client.force_login(User.objects.create_superuser("admin"))
        order = counter.place_order("ada@example.com", "works", [(self.heathrow, 1)])
        link = f"/admin/durable/workflowstatus/{order.workflow_id}/change/"
        self.assertContains(self.client.get(order.get_absolute_url()), f'href="{link}"')
        self.assertContains(self.client.get(link), "shop.fulfil")

    def test_an_import_puts_its_workflow_in_line(self) -> None:
        answer = self.client.post("/imports/")
        catalogue_import = CatalogueImport.objects.get()
        self.assertRedirects(answer, catalogue_import.get_absolute_url())
        assert WorkflowStatus.objects.get().pk == catalogue_import.workflow_id
        told = self.client.get(f"{catalogue_import.get_absolute_url()}progress.json").json()
        assert (told["done"], told["percent"], told["ended"]) == (0, 0, False)

    def test_pages_forbid_inline_scripts_and_hold_none(self) -> None:
        order = counter.place_order("ada@example.com", "works", [(self.heathrow, 1)])
        for path in (
            "/",
            self.heathrow.get_absolute_url(),
            order.get_absolute_url(),
            "/orders/",
            "/imports/",
        ):
            with self.subTest(path):
                page = self.client.get(path)
                assert "default-src 'self'" in page.headers["Content-Security-Policy"]
                assert not re.search(r"<style|\sstyle=|\son\w+=|<script>", page.content.decode())
