"""What a customer fills in."""

from __future__ import annotations

from django import forms

from shop.models import Order


class BuyForm(forms.Form):
    """One print, straight to the till."""

    quantity = forms.IntegerField(min_value=1, max_value=20, initial=1)
    email = forms.EmailField(
        label="E-mail",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "placeholder": "you@example.com"}),
    )
    card = forms.ChoiceField(label="Test card", choices=Order.Card.choices, initial=Order.Card.WORKS)
