"""Lengths of time in forms: shown as people read them, taken as they write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from django_durable.core.durations import in_words, is_written_as_length, read
from django_durable.exceptions import InvalidOption


class LengthField(forms.DurationField):
    """Takes `1m` and `1h30m` beside what Django takes: seconds, and `00:01:00`."""

    def prepare_value(self, value: Any) -> Any:
        return in_words(value) if isinstance(value, timedelta) else value

    def to_python(self, value: Any) -> timedelta | None:
        if value in self.empty_values or isinstance(value, timedelta):
            return super().to_python(value)
        if is_written_as_length(str(value)):
            return _read(str(value))  # Django would cut off what is finer than a microsecond
        try:
            return super().to_python(value)
        except ValidationError:
            return _read(str(value))


def _read(text: str) -> timedelta:
    try:
        return read(text)
    except InvalidOption as fault:
        raise ValidationError(f"{str(fault)[0].upper()}{str(fault)[1:]}.") from None
