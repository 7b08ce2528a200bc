"""What a test needs on the shelf."""

from __future__ import annotations

from shop import shelving
from shop.models import Order, OrderLine, Product


def window(least_on_hand: int = 10) -> list[Product]:
    return shelving.dress_window(least_on_hand)


def order_of(product: Product, quantity: int = 1, card: str = Order.Card.WORKS) -> Order:
    """An order that nothing fulfils by itself."""
    order = Order.objects.create(email="ada@example.com", card=card, total=product.price * quantity)
    OrderLine.objects.create(order=order, product=product, quantity=quantity, unit_price=product.price)
    return order
