"""Three hundred people who all want a print today."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from shop import counter
from shop.models import Order, Product

NAMES = "ada grace alan edsger barbara donald radia leslie frances tony margaret niklaus"
CARDS = [Order.Card.WORKS] * 17 + [Order.Card.FLAKY] * 2 + [Order.Card.DECLINED]


def place(count: int, window: Sequence[Product]) -> Iterator[Order]:
    """Place orders as the shop's page does, each in its own transaction."""
    chance = random.Random()
    for _ in range(count):
        basket = chance.sample(window, k=chance.randint(1, min(3, len(window))))
        yield counter.place_order(
            f"{chance.choice(NAMES.split())}@example.com",
            chance.choice(CARDS),
            [(product, chance.randint(1, 2)) for product in basket],
        )
