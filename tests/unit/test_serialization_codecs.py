"""Classes in payloads: found by name, built without constructors, refused when they have changed."""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from django_durable.core.payloads import codecs, records
from django_durable.core.payloads.classes import find_class, is_importable, path_of, shown, type_name
from django_durable.core.payloads.codecs import register_codec
from django_durable.core.payloads.jsontree import tagged_leaf
from django_durable.core.payloads.serialization import dumps, json_serializer, loads
from django_durable.exceptions import InvalidOption, NotSerializable, PayloadUnreadable
from tests.unit import stored
from tests.unit.stored import Colour, Frozen, Money, Plain, Point, Right, Tagged

HERE = "tests.unit.stored"


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(codecs, "FAMILIES", {})
    monkeypatch.setattr(codecs, "BY_TAG", codecs.BY_TAG.copy())
    monkeypatch.setattr("django_durable.core.payloads.jsontree.BY_TAG", codecs.BY_TAG)


def write(value):
    return dumps(value, where="it", max_bytes=10_000)


def refusal(value):
    with pytest.raises(NotSerializable) as caught:
        write(value)
    return str(caught.value)


def unreadable(text):
    with pytest.raises(PayloadUnreadable) as caught:
        loads(text)
    return str(caught.value)


def test_a_dataclass_is_read_without_its_constructor():
    kept = Frozen("x")
    object.__setattr__(kept, "key", "never")
    assert loads(write(kept)) == kept


def test_a_dataclass_made_through_its_generic_alias_comes_back():
    box = stored.Box[int](3)
    assert loads(write(box)) == box


@pytest.mark.parametrize(
    ("kind", "moment"),
    [("FakeDatetime", datetime(2030, 1, 1, 12, tzinfo=UTC)), ("FakeDate", date(2030, 1, 1))],
)
def test_a_moment_that_a_held_clock_made_comes_back_as_what_it_stands_for(kind, moment):
    held = type(kind, (type(moment),), {"__module__": "freezegun.api"})
    parts = moment.timetuple()[:3] if kind == "FakeDate" else (*moment.timetuple()[:6], 0, UTC)
    back = loads(write({"at": [held(*parts)]}))["at"][0]
    assert (type(back), back) == (type(moment), moment)


def test_attributes_beside_the_fields_come_back_and_cached_ones_are_made_again():
    money = Money(Decimal("1.10"))
    vars(money)["note"] = "extra"
    assert money.doubled() == Decimal("2.20")
    back = loads(write(money))
    assert (back, vars(back)["note"], back.doubled()) == (money, "extra", Decimal("2.20"))


def test_a_field_that_the_class_has_gained_takes_its_default():
    back = loads(f'{{"$":"dataclass","v":["{HERE}:Money",{{"amount":1}}]}}')
    assert back == Money(1, "EUR", [])


def test_a_field_without_a_default_that_the_class_has_gained_is_named():
    assert "has gained the field 'amount'" in unreadable(f'{{"$":"dataclass","v":["{HERE}:Money",{{}}]}}')


def test_a_field_that_a_class_with_slots_has_lost_is_named():
    assert "gone" in unreadable(f'{{"$":"dataclass","v":["{HERE}:Frozen",{{"key":1,"gone":2}}]}}')


def test_a_field_that_was_never_set_is_refused():
    money = Money(1)
    del money.amount
    assert "one of its fields is not set" in refusal([money])


def test_a_dataclass_that_is_also_a_dict_is_refused():
    assert "also a dict" in refusal(stored.Loaded())


def test_the_path_into_a_dataclass_names_its_field():
    with pytest.raises(NotSerializable) as caught:
        write({"prices": [Money([1, object()])]})
    assert caught.value.path == "value['prices'][0].amount[1]"


def test_the_path_into_a_named_tuple_names_its_field():
    with pytest.raises(NotSerializable) as caught:
        write(Point(1, object()))
    assert caught.value.path == "value.y"


def test_a_named_tuple_takes_the_default_of_a_field_it_has_gained():
    assert loads(f'{{"$":"namedtuple","v":["{HERE}:Point",{{"x":1}}]}}') == Point(1, 0)


@pytest.mark.parametrize("values", ['{"y":1}', '{"x":1,"z":2}'])
def test_a_named_tuple_whose_fields_changed_cannot_be_read(values):
    assert "has the fields ['x', 'y']" in unreadable(f'{{"$":"namedtuple","v":["{HERE}:Point",{values}]}}')


def test_a_named_tuple_with_attributes_is_refused():
    more = Tagged(1, 2)
    assert loads(write(more)) == more
    vars(more)["note"] = 1
    assert "beside its fields" in refusal(more)


def test_classes_that_another_process_cannot_import_are_refused(monkeypatch):
    @dataclasses.dataclass
    class Local:
        pass

    shade = enum.Enum("shade", "DARK")
    interactive = types.new_class("Interactive", exec_body=lambda names: names.update(__module__="__main__"))
    monkeypatch.setattr(sys.modules["__main__"], "Interactive", interactive, raising=False)
    assert "top level of a module" in refusal(Local())
    assert "top level of a module" in refusal(shade.DARK)
    assert not is_importable(interactive)


def test_a_member_made_up_at_run_time_is_refused():
    class Fluid(enum.Enum):
        A = 1

    member = object.__new__(Colour)
    member._name_, member._value_ = "MADE_UP", 7
    assert "no listed member" in refusal(member)


def test_a_composed_flag_comes_back():
    assert loads(write(Right.READ | Right.WRITE)) is Right.READ | Right.WRITE


@pytest.mark.parametrize(
    ("tag", "kind"),
    [("enum", "Plain"), ("dataclass", "Plain"), ("namedtuple", "Plain"), ("namedtuple", "Colour")],
)
def test_a_class_of_another_kind_than_stored_is_not_used(tag, kind):
    assert "is no longer a" in unreadable(f'{{"$":"{tag}","v":["{HERE}:{kind}",{{}}]}}')


@pytest.mark.parametrize(
    "path", [f"{HERE}:Gone", f"{HERE}:Money.Gone", f"{HERE}:MAX_BYTES.x", "os:system", "os"]
)
@pytest.mark.parametrize("tag", ["enum", "dataclass", "namedtuple"])
def test_a_path_that_leads_to_no_class_cannot_be_read(tag, path):
    assert "there is no class" in unreadable(f'{{"$":"{tag}","v":["{path}",{{}}]}}')


@pytest.mark.parametrize("module", ["no.such.module", ".relative", "", "a\\u0000b"])
def test_a_module_that_cannot_be_imported_is_told(module):
    assert "cannot be imported" in unreadable(f'{{"$":"enum","v":["{module}:X","A"]}}')


def test_a_class_whose_module_is_not_loaded_yet_is_imported(monkeypatch, tmp_path):
    (tmp_path / "late_colours.py").write_text("import enum\nclass Late(enum.Enum):\n    A = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_class("late_colours:Late") is None
    member = loads('{"$":"enum","v":["late_colours:Late","A"]}')
    assert type(member).__name__ == "Late"
    monkeypatch.delitem(sys.modules, "late_colours")


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"$":"datetime"}',
            '{"$":"datetime","v":"2026-01-01","w":1}',
            '{"$":"nothing","v":1}',
            '{"$":[],"v":1}',
        ),
        *('{"$":"datetime","v":"yesterday"}', '{"$":"datetime","v":7}', '{"$":"decimal","v":"one"}'),
        *('{"$":"uuid","v":"x"}', '{"$":"uuid","v":1}', '{"$":"bytes","v":"*"}', '{"$":"timedelta","v":[1]}'),
        *('{"$":"set","v":[[]]}', '{"$":"dict","v":[1]}', '{"$":"int","v":"zz"}', '{"$":"enum","v":"x"}'),
        *('{"$":"timedelta","v":[999999999999,0,0]}', '{"$":"datetime","v":{"zone":"UTC"}}'),
        f'{{"$":"enum","v":["{HERE}:Colour","GREEN"]}}',
        f'{{"$":"enum","v":["{HERE}:Right",64]}}',
        '{"$":"datetime","v":{"iso":"2026-01-01","zone":"Mars/Olympus"}}',
    ],
)
def test_damaged_data_cannot_be_read_and_says_so(text):
    assert "a stored payload cannot be read" in unreadable(f"[{text}]")


class Reference:
    def __init__(self, key):
        self.key = key

    def __eq__(self, other):
        return type(self) is type(other) and self.key == other.key

    def __hash__(self):
        return hash(self.key)


class Special(Reference):
    pass


def dump_reference(reference):
    if reference.key is None:
        raise ValueError("save it first")
    return {"key": reference.key}


def load_reference(data):
    if data["key"] == "damaged":
        raise PayloadUnreadable("row 7 is gone")
    return Special(data["key"])


def test_a_registered_codec_stores_a_type_and_its_subclasses(registry):
    register_codec("reference", Reference, dump_reference, load_reference)
    register_codec("reference", Reference, dump_reference, load_reference)
    assert loads(write((Special(UUID(int=1)), {"a": [Special(2)]}))) == (
        Special(UUID(int=1)),
        {"a": [Special(2)]},
    )
    assert "save it first" in refusal([Special(None)])
    assert unreadable('{"$":"reference","v":{"key":"damaged"}}').endswith("row 7 is gone")


def test_a_registered_codec_comes_before_what_the_package_makes_of_a_class(registry):
    register_codec("colour", Colour, lambda colour: colour.name, Colour.__getitem__)
    assert write(Colour.RED) == '{"$":"colour","v":"RED"}'
    assert loads(write(Colour.RED)) is Colour.RED


def test_what_a_codec_raises_otherwise_is_told_with_the_serializer(registry):
    register_codec("reference", Reference, lambda reference: reference.key.missing, load_reference)
    assert "serializer 'json' refuses it" in refusal(Reference(1))
    with pytest.raises(AttributeError):
        json_serializer.dumps(Reference(1))


def test_a_tag_or_type_that_is_taken_is_refused(registry):
    register_codec("reference", Reference, dump_reference, load_reference)
    with pytest.raises(InvalidOption, match="already stands for"):
        register_codec("reference", Special, dump_reference, load_reference)
    with pytest.raises(InvalidOption, match="already stands for"):
        register_codec("datetime", Plain, dump_reference, load_reference)
    with pytest.raises(InvalidOption, match="already stored as 'reference'"):
        register_codec("other", Reference, dump_reference, load_reference)
    with pytest.raises(InvalidOption, match="by the package itself"):
        register_codec("other", Decimal, dump_reference, load_reference)


def test_a_leaf_without_codec_is_refused():
    with pytest.raises(TypeError, match="object is not stored"):
        tagged_leaf(object())


def test_class_paths_are_readable_whatever_the_metaclass_says():
    class Hiding(type):
        __module__ = property(lambda cls: 1 / 0)

    hidden = Hiding("Hidden", (), {"__module__": "far.away"})
    assert path_of(hidden) == "far.away:Hidden"
    assert type_name(ValueError) == "ValueError"
    assert shown("shop.errors:Card.Declined") == "shop.errors.Card.Declined"
    assert not records.is_dataclass(hidden)
