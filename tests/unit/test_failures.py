"""Any exception can be written down and read; it is made again with its own type wherever that is safe."""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from django_durable.core.payloads.failures import (
    DEPTH,
    FRAMES,
    MESSAGE,
    NOTES,
    ROOM,
    SHORTER,
    TRACEBACK,
    Failure,
    describe,
    restore,
    summary,
)
from django_durable.core.payloads.revival import RECORDED_TRACEBACK
from django_durable.core.payloads.serialization import dumps, loads
from django_durable.exceptions import Fail, StepFailed, StepRetriesExhausted, UnexpectedStep
from tests.unit import broken, stored
from tests.unit.stored import Quiet


def caught(error):
    """The same exception, after it was raised."""
    try:
        raise error
    except BaseException as raised:
        return raised


def again(error):
    return restore(describe(caught(error)))


def causes(error):
    while error := error.__cause__:
        yield error


def plain(error):
    attributes = {name: value for name, value in vars(error).items() if name != RECORDED_TRACEBACK}
    return type(error), error.args, attributes


@pytest.mark.parametrize(
    "error",
    [
        *(ValueError("no"), KeyError("k"), Exception(), StopIteration(3), ZeroDivisionError(1, "two", None)),
        *(broken.Declined(402, "no money"), broken.Renamed(("a", {1})), IntegrityError("duplicate")),
        *(UnexpectedStep("w", 1, "a", "b"), StepFailed("shop.Gone", "why", "traceback")),
        *(ValidationError("bad", code="x", params={"a": 1}), psycopg.errors.UniqueViolation("twice")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_with_type_arguments_and_attributes(error):
    assert plain(again(error)) == plain(error)


@pytest.mark.parametrize(
    ("provoke", "attribute", "value"),
    [
        (lambda: Path("no/such/file").read_text(), "filename", "no/such/file"),
        (lambda: Path("no/such/file").read_text(), "errno", 2),
        (lambda: b"\xff".decode(), "object", b"\xff"),
        (lambda: next(iter([])), "value", None),
        (lambda: compile("a b", "file.py", "exec"), "filename", "file.py"),
        (lambda: __import__("no_such_module"), "name", "no_such_module"),
        (lambda: subprocess.run([sys.executable, "-c", "exit(3)"], check=True), "returncode", 3),
        (lambda: json.loads("{"), "pos", 1),
    ],
    ids=["file", "errno", "unicode", "iterator", "syntax", "import", "process", "json"],
)
def test_what_python_itself_raises_comes_back_whole(provoke, attribute, value):
    with pytest.raises(Exception) as raised:  # noqa: PT011 - the kind is checked below
        provoke()
    back = again(raised.value)
    assert type(back) is raised.type
    assert str(back) == str(raised.value)
    assert getattr(back, attribute) == value


def test_no_constructor_runs_unless_the_class_says_how():
    careful = broken.Careful(7, hint="x")
    made = broken.Careful.made
    back = again(careful)
    assert plain(back) == plain(careful)
    assert broken.Careful.made == made + 1
    assert plain(again(broken.Brief(7))) == plain(broken.Brief(7))


@pytest.mark.parametrize("kind", [broken.Evasive, broken.Disguised])
def test_a_class_that_cannot_be_taken_apart_its_own_way_is_taken_apart_as_it_stands(kind):
    assert plain(again(kind(7, hint="x"))) == (kind, ("code 7",), {"code": 7, "hint": "x"})


def test_a_class_that_makes_something_else_gives_a_step_failure():
    assert again(broken.Shifty(7, hint="x")).path == "tests.unit.broken.Shifty"


def test_slots_come_back():
    error = broken.OneSlot(7)
    error.extra = "e"
    back = again(error)
    assert (back.code, back.extra, hasattr(back, "never_set")) == (7, "e", False)


def test_an_error_inside_a_function_is_read_by_name_and_message():
    class Local(Exception):
        pass

    back = again(Local("why"))
    assert type(back) is StepFailed
    assert back.path.endswith("test_an_error_inside_a_function_is_read_by_name_and_message.<locals>.Local")
    assert back.message == "why"
    assert "raise error" in back.traceback


def test_an_argument_that_cannot_be_stored_is_a_text_and_told():
    with closing(socket.socket()) as connection:
        back = again(broken.Renamed("at", connection))
    place, text = back.args
    assert (type(back), place) == (broken.Renamed, "at")
    assert text.startswith("<socket.socket")
    assert back.__notes__ == ["not stored with this error: args[1] (socket.socket)"]


def test_an_argument_that_cannot_even_be_shown_is_told_by_its_type():
    assert again(ValueError(Quiet())).args == ("of type Quiet",)


def test_a_constructor_is_given_no_text_in_place_of_an_object():
    with closing(socket.socket()) as connection:
        back = again(broken.Brief(connection))
    assert (type(back), back.path) == (StepFailed, "tests.unit.broken.Brief")


def test_an_attribute_that_cannot_be_stored_is_absent_and_told():
    error = broken.Declined(402, "no money")
    vars(error)["detail"] = Quiet()
    back = again(error)
    assert (type(back), back.code, hasattr(back, "detail")) == (broken.Declined, 402, False)
    assert back.__notes__ == ["not stored with this error: detail (tests.unit.stored.Quiet)"]


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(2), GeneratorExit(), Fail("enough")], ids=repr
)
def test_what_ends_programs_comes_back_as_a_step_failure(error):
    back = again(error)
    assert type(back) is StepFailed
    assert back.path.endswith(type(error).__name__)


@pytest.mark.parametrize(
    "error",
    [
        *(KeyboardInterrupt("stop"), SystemExit(2), GeneratorExit(), asyncio.CancelledError("by hand")),
        BaseExceptionGroup("ended", [KeyboardInterrupt(), ValueError(1)]),
    ],
    ids=repr,
)
def test_what_ends_programs_comes_back_as_itself_where_that_is_asked_for(error):
    back = restore(describe(error), programs=True)
    assert (type(back), repr(back)) == (type(error), repr(error))


def test_what_says_how_a_run_shall_end_is_no_error_to_come_back():
    assert type(restore(describe(Fail("enough")), programs=True)) is StepFailed


def test_a_class_that_is_not_loaded_is_not_imported(monkeypatch, tmp_path):
    (tmp_path / "late_errors.py").write_text("class Late(Exception):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    late_errors = importlib.import_module("late_errors")
    text = describe(late_errors.Late("why"))
    assert type(restore(text)) is late_errors.Late
    monkeypatch.delitem(sys.modules, "late_errors")
    assert plain(restore(text)) == plain(StepFailed("late_errors.Late", "why", summary(text).traceback))
    assert summary(text)[:2] == ("late_errors.Late", "why")
    assert "late_errors" not in sys.modules


@pytest.mark.parametrize(
    "path", ["builtins:int", "os:system", "builtins:KeyboardInterrupt", "tests.unit.broken:Gone", "x"]
)
def test_a_path_that_is_no_exception_class_is_never_called(path):
    text = json.dumps({"type": path, "message": "m", "called": True, "args": "[]", "state": {}})
    assert type(restore(text)) is StepFailed


def test_a_class_that_has_changed_since_gives_a_step_failure(monkeypatch):
    text = describe(broken.OneSlot(7))
    monkeypatch.setattr(broken.OneSlot, "code", property(lambda error: 7))
    assert summary(text).type == "tests.unit.broken.OneSlot"
    assert type(restore(text)) is StepFailed


def test_causes_contexts_and_notes_come_back():
    cause = broken.Declined(402, "no money")
    error = ValueError("outer")
    error.__cause__ = cause
    error.__context__ = KeyError("context")
    error.add_note("look here")
    vars(error)["__notes__"].append(7)
    back = again(error)
    assert plain(back.__cause__) == plain(cause)
    assert plain(back.__context__) == plain(KeyError("context"))
    assert (back.__notes__, back.__suppress_context__) == (["look here"], True)
    assert "no money" in summary(describe(error)).traceback


def test_only_so_many_notes_come_back():
    error = ValueError()
    for number in range(NOTES + 10):
        error.add_note(f"{number}")
    assert again(error).__notes__ == [f"{number}" for number in range(NOTES)]


def test_an_error_in_a_circle_of_causes_is_described_once():
    error, other = ValueError("a"), KeyError("b")
    error.__cause__, other.__cause__ = other, error
    back = again(error)
    assert plain(back.__cause__) == plain(other)
    assert back.__cause__.__cause__ is None


def test_a_group_comes_back_with_its_members():
    back = again(broken.Group("several", [ValueError(1), ExceptionGroup("inner", [broken.Declined(1, "x")])]))
    assert type(back) is broken.Group
    assert back.message == "several"
    first, inner = back.exceptions
    assert plain(first) == plain(ValueError(1))
    assert type(inner) is ExceptionGroup
    assert plain(inner.exceptions[0]) == plain(broken.Declined(1, "x"))


def test_a_group_comes_back_with_its_attributes():
    group = broken.Group("several", [ValueError(1)])
    vars(group).update(code=7, quiet=Quiet())
    back = again(group)
    assert (back.code, hasattr(back, "quiet")) == (7, False)
    assert back.__notes__ == ["not stored with this error: quiet (tests.unit.stored.Quiet)"]


def test_a_group_too_large_to_describe_is_read_as_text():
    back = again(ExceptionGroup("many", [ValueError(n) for n in range(1000)]))
    assert type(back) is StepFailed
    assert "many (1000 sub-exceptions)" in back.message
    interrupted = again(BaseExceptionGroup("ended", [KeyboardInterrupt()]))
    assert type(interrupted) is StepFailed


def test_the_errors_of_all_attempts_come_back():
    errors = [caught(broken.Declined(n, "no")) for n in range(100)]
    back = again(StepRetriesExhausted("charge", errors))
    assert type(back) is StepRetriesExhausted
    assert list(map(plain, back.errors)) == list(map(plain, errors))


def test_errors_held_by_an_error_are_described_shorter():
    long = broken.Renamed()
    long.add_note("a" * 10**6)
    (back,) = again(StepRetriesExhausted("charge", [caught(long)])).errors
    assert len(vars(back)[RECORDED_TRACEBACK]) < TRACEBACK // SHORTER + 100
    assert len(back.__notes__[0]) < MESSAGE // SHORTER + 100


def test_all_relatives_together_have_room_for_so_much():
    error = broken.Declined(1, "x")
    for _ in range(10):
        cause, error = error, broken.Declined(1, "x")
        error.detail = "a" * 200_000
        error.__cause__ = cause
    text = describe(error)
    assert ROOM // 2 < len(text) < 2 * ROOM
    back = restore(text)
    nearest_first = [hasattr(error, "detail") for error in (back, *causes(back))]
    assert nearest_first == [True, True, *[False] * 8, True]  # the first of all took little room


def test_an_error_can_be_a_value_among_others():
    text = dumps([1, broken.Declined(402, "no")], where="it", max_bytes=10_000)
    _, back = loads(text)
    assert plain(back) == plain(broken.Declined(402, "no"))


@pytest.mark.parametrize("attribute", [True, False], ids=["attribute", "argument"])
def test_an_error_that_holds_itself_is_described(attribute):
    error = broken.Renamed()
    if attribute:
        vars(error)["me"] = error
    else:
        error.args = (error,)
    text = describe(error)
    assert len(text) < 10_000
    assert type(restore(text)) is broken.Renamed


def test_text_with_nul_half_characters_and_escapes_is_stored_and_legible():
    ugly = "\x00\ud800\udcff" + chr(0x1F600) + "\x1b[31m"
    text = describe(caught(ValueError(ugly)))
    text.encode("utf-8")
    assert "\0" not in text
    assert restore(text).args == (ugly,)
    seen = summary(text)
    assert seen.message == "\\x00\\ud800\\udcff\U0001f600\x1b[31m"
    assert "\\ud800" in seen.traceback


def test_a_message_of_ten_megabytes_loses_its_middle_and_keeps_its_type():
    text = describe(caught(ValueError("a" * 10**7 + "end")))
    assert len(text) < 2 * (MESSAGE + TRACEBACK)
    seen = summary(text)
    assert "characters left out" in seen.message
    assert seen.message.endswith("end")
    assert len(seen.traceback) < TRACEBACK + 100
    assert type(restore(text)) is ValueError


def test_arguments_that_together_are_too_large_give_a_step_failure():
    assert type(again(ValueError(["a" * 10**7]))) is StepFailed


def test_an_attribute_that_is_too_large_is_absent_and_told():
    error = broken.Declined(1, "x")
    error.detail = "a" * 10**6
    assert again(error).__notes__ == ["not stored with this error: detail (str)"]


@pytest.mark.parametrize("error", [broken.Broken(1), broken.Bytes(1)], ids=["raises", "bytes"])
def test_an_error_that_cannot_be_shown_is_described(error):
    seen = summary(describe(caught(error)))
    assert seen.type == f"tests.unit.broken.{type(error).__name__}"
    assert seen.message.startswith("<str() of this error raised ")
    assert type(error).__name__ in seen.traceback
    assert type(again(error)) is type(error)


def test_an_error_whose_parts_raise_is_told_by_type_and_message():
    text = describe(broken.Unapproachable("why"))
    assert summary(text) == (
        "tests.unit.broken.Unapproachable",
        "why",
        "<describing this error raised RuntimeError>",
    )
    assert type(restore(text)) is StepFailed


def test_a_traceback_that_cannot_be_rendered_is_told(monkeypatch):
    monkeypatch.setattr("traceback.TracebackException.format", lambda self: 1 / 0)
    assert (
        summary(describe(ValueError("why"))).traceback
        == "<no traceback: rendering it raised ZeroDivisionError>"
    )


def test_an_error_out_of_a_deep_recursion_is_described():
    def down(depth):
        return down(depth - 1) + 1 if depth else 1 / 0

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        with pytest.raises(ZeroDivisionError) as raised:
            down(10_000)
    finally:
        sys.setrecursionlimit(limit)
    text = describe(raised.value)
    assert len(text) < 100_000
    assert "division by zero" in summary(text).traceback


def test_a_traceback_shows_the_innermost_frames():
    def even(depth):
        return odd(depth - 1) if depth else 1 / 0

    def odd(depth):
        return even(depth - 1)

    with pytest.raises(ZeroDivisionError) as raised:
        even(500)
    seen = summary(describe(raised.value)).traceback
    assert seen.count(", in ") == FRAMES
    assert "1 / 0" in seen


def test_an_error_is_described_on_a_stack_that_is_almost_full():
    def down(found):
        try:
            return down(found)
        except RecursionError as error:
            if len(found) < 40:
                found.append(describe(error))
            raise

    found: list[str] = []
    with pytest.raises(RecursionError):
        down(found)
    assert {summary(text).type for text in found} == {"RecursionError"}


def test_a_chain_of_ten_thousand_causes_is_described():
    error = ValueError(0)
    for number in range(10_000):
        error, error.__cause__ = ValueError(number), error
    text = describe(error)
    assert len(text) < 200_000
    back = restore(text)
    assert type(back) is ValueError
    assert len(list(causes(back))) == DEPTH


def test_a_restored_error_that_fails_the_workflow_shows_where_it_first_came_from():
    first = describe(caught(ValueError("why")))
    second = describe(caught(restore(first)))
    assert summary(second).traceback.startswith(summary(first).traceback)
    assert "Raised again from its record:" in summary(second).traceback


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "7", '"text"', "null", '{"type":3}', '{"message":"m"}', "[" * 100_000, "\ud800"),
        *('{"type":"builtins:ValueError","args":"[","called":false,"state":{}}', '{"type":"a:b","cause":5}'),
        *(
            '{"type":"builtins:ValueError","notes":7}',
            '{"type":"builtins:ValueError","message":5,"traceback":[]}',
        ),
        *(
            '{"type":"builtins:ExceptionGroup","members":[]}',
            '{"type":"builtins:ExceptionGroup","members":5}',
        ),
    ],
    ids=lambda text: ascii(text[:40]),
)
def test_text_of_another_origin_is_read_as_far_as_it_goes(text):
    assert isinstance(summary(text), Failure)
    assert type(restore(text)) is StepFailed


def test_text_that_is_no_record_is_its_own_message():
    assert summary("disk full") == ("unknown", "disk full", "")
    assert str(restore("disk full")) == "unknown: disk full"


@settings(max_examples=300, deadline=None)
@example(message=stored.Kind.CARD, note="")
@given(message=st.one_of(stored.values, stored.texts), note=stored.texts)
def test_every_error_with_storable_arguments_comes_back(message, note):
    error = broken.Renamed(message)
    error.add_note(note)
    text = describe(error)
    text.encode("utf-8")
    back = restore(text)
    assert type(back) is broken.Renamed
    assert stored.same(back.args, (message,))
