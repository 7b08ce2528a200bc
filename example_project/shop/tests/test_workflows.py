"""The workflows' bodies, called plainly: what the shop does, without what makes it durable."""

from __future__ import annotations

from decimal import Decimal

from django.core import mail
from django.db.models import Sum
from django.test import TestCase, override_settings

from shop import catalogue, shelving
from shop.models import CatalogueImport, ImportedRow, Order, Payment, Product, Stock
from shop.tests.shelves import order_of, window
from shop.workflows import fulfil, import_catalogue


@override_settings(SHOP_GATEWAY_SECONDS=0)
class FulfilTests(TestCase):
    databases = {"default", "outside"}
    heathrow: Product

    @classmethod
    def setUpTestData(cls) -> None:
        cls.heathrow = window(least_on_hand=10)[0]

    def fulfil(self, quantity: int = 1, card: str = Order.Card.WORKS) -> Order:
        order = order_of(self.heathrow, quantity, card)
        fulfil.call(order.pk)
        order.refresh_from_db()
        return order

    def on_hand(self) -> int:
        return Stock.objects.get(product=self.heathrow).on_hand

    def test_an_order_is_charged_shipped_and_confirmed(self) -> None:
        order = self.fulfil(quantity=3)
        assert order.state == Order.State.SHIPPED
        assert self.on_hand() == 7
        payment = Payment.objects.using("outside").get(order_number=order.number)
        assert payment.amount == order.total
        parcel = order.shipments.get()
        assert parcel.tracking_number in mail.outbox[0].body
        assert mail.outbox[0].subject == f"Your order {order.number} is on its way"

    def test_a_declined_card_puts_the_prints_back(self) -> None:
        order = self.fulfil(quantity=3, card=Order.Card.DECLINED)
        assert (order.state, order.note) == (Order.State.DECLINED, "the bank declined the card")
        assert self.on_hand() == 10
        assert order.movements.aggregate(sum=Sum("quantity"))["sum"] == 0
        assert not order.shipments.exists()
        assert "You have not been charged" in mail.outbox[0].body

    def test_an_order_for_more_than_there_is_takes_nothing(self) -> None:
        order = self.fulfil(quantity=11)
        assert order.note == "only 10 of LHR left, 11 ordered"
        assert not order.movements.exists()
        assert not Payment.objects.using("outside").exists()

    def test_a_lost_answer_of_the_provider_charges_once(self) -> None:
        order = self.fulfil(card=Order.Card.FLAKY)
        assert order.state == Order.State.SHIPPED
        assert Payment.objects.using("outside").get().requests == 2

    def test_a_print_without_a_shelf_is_printed_to_order(self) -> None:
        Stock.objects.all().delete()
        assert self.fulfil().state == Order.State.SHIPPED


class ImportTests(TestCase):
    databases = {"default", "outside"}

    def test_every_row_of_the_file_becomes_a_print_once(self) -> None:
        catalogue_import = CatalogueImport.objects.create(
            version=catalogue.release(), rows_total=1203, chunk_size=500
        )
        assert import_catalogue.call(catalogue_import.pk) == 1203
        catalogue_import.refresh_from_db()
        assert catalogue_import.rows_done == 1203
        assert catalogue_import.finished_at is not None
        lines = ImportedRow.objects.order_by("line").values_list("line", "sku")
        assert list(lines) == [(line, row.sku) for line, row in enumerate(catalogue.rows()[:1203])]

    def test_an_import_again_keeps_the_shops_prices(self) -> None:
        rows = catalogue.rows()[:3]
        shelving.shelve(rows)
        Product.objects.filter(sku=rows[0].sku).update(price=99, name="old")
        shelving.shelve(rows)
        product = Product.objects.get(sku=rows[0].sku)
        assert (product.price, product.name) == (Decimal(99), rows[0].name)

    def test_another_release_of_the_file_is_refused(self) -> None:
        catalogue_import = CatalogueImport.objects.create(version="19991231", rows_total=10)
        with self.assertRaisesMessage(shelving.CatalogueChanged, "19991231"):
            import_catalogue.call(catalogue_import.pk)
