"""The command line of a worker, said again to its children; and its log lines."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from argparse import ArgumentParser
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from django_durable import logs
from django_durable.core.outcomes import Cancelled, Completed, Deferred, Failed, Overtaken, Parked
from django_durable.core.payloads.failures import describe
from django_durable.instrument import Span, report
from django_durable.worker.process.arguments import add_arguments, child_arguments, worker_options
from django_durable.worker.process.child_command import start_again

BASE = {"verbosity": 1, "settings": None, "pythonpath": None}


def parse(*arguments: str) -> dict[str, object]:
    parser = ArgumentParser()
    add_arguments(parser)
    return {**BASE, **vars(parser.parse_args(arguments))}


SAYS_ALL = (
    "--queue=a",
    "--queue=b c",
    "--exclude=x'; DROP TABLE t;--",
    "--slots=7",
    "--burst",
    "--max-tasks=5",
    "--max-memory=100",
    "--poll-interval=0.5",
    "--shutdown-timeout=3.5",
    "--no-listen",
    "--no-maintenance",
    "--database=default",
    "--heartbeat-file=/run/beat",
    "--format=json",
)


def test_a_child_is_told_what_its_parent_was():
    told = parse(*SAYS_ALL)
    again = parse(
        *[argument for argument in child_arguments(told, 1) if not argument.startswith("--verbosity")]
    )
    assert again == {**told, "child": True}


def test_each_child_has_an_id_of_its_own():
    assert "--worker-id=here-2" in child_arguments(parse("--worker-id=here"), 2)


def test_each_child_has_a_core_of_its_own():
    assert "--core=3" in child_arguments(parse("--core=1"), 3)


def test_a_process_that_is_kept_on_a_core_starts_its_threads_there():
    code = (
        "import os, threading; from django_durable.worker.process.core import cores, keep_on; own = cores(); "
        "keep_on(len(own) + 1); seen = []; "
        "thread = threading.Thread(target=lambda: seen.append(cores())); thread.start(); thread.join(); "
        "print(seen == [[own[1 % len(own)]]])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout == "True\n", done.stderr


def test_a_system_that_keeps_no_process_on_a_core_says_so(monkeypatch, capsys):
    monkeypatch.delattr("os.sched_getaffinity")
    with pytest.raises(SystemExit):
        parse("--core=0")
    assert "this system keeps no process on a core" in capsys.readouterr().err


def test_what_was_not_said_is_not_said_again():
    assert child_arguments(parse(), 1) == [
        "--child",
        "--slots=10",
        "--shutdown-timeout=25.0",
        "--verbosity=1",
    ]


@pytest.mark.parametrize(
    "arguments", [["--queue=a", "--exclude=a"], ["--queue=a", "--exclude=b", "--exclude=a"]]
)
@pytest.mark.parametrize("processes", ["--processes=1", "--processes=2"])
def test_a_worker_of_no_queue_is_refused(arguments, processes):
    with pytest.raises(CommandError, match="--exclude leaves out all that --queue names: a"):
        call_command("run_queues", "--skip-checks", processes, *arguments)


def test_a_worker_of_some_of_the_queues_or_of_all_others_is_not_refused():
    assert not worker_options(parse("--queue=a", "--queue=b", "--exclude=a")).serves_nothing
    assert not worker_options(parse("--exclude=a")).serves_nothing


def test_without_a_word_the_settings_hold(settings):
    settings.DURABLE = {"POLL_INTERVAL": 3.0, "NOTIFY": False, "DATABASE": "default"}
    options = worker_options(parse())
    assert (options.using, options.poll_interval, options.listens, options.maintains) == (
        "default",
        3.0,
        False,
        True,
    )


@pytest.mark.parametrize(
    "argument",
    [
        *(f"--worker-id={name}" for name in ("", " ", "a\0b", "\udcff", "x" * 300)),
        *(f"--shutdown-timeout={number}" for number in ("1e10", "inf", "nan", "-1", "9" * 5000)),
        "--poll-interval=1e10",
        f"--slots={10**10}",
    ],
)
def test_what_no_worker_could_be_told_is_refused(argument, capsys):
    with pytest.raises(SystemExit):
        parse(argument)
    *_, told = capsys.readouterr().err.splitlines()
    assert argument.split("=")[0] in told
    assert len(told) < 300


def test_a_queue_named_twice_is_one():
    assert worker_options(parse("--queue=a", "--queue=a")).queues == ("a",)


def test_it_is_started_again_as_it_was_started(monkeypatch, tmp_path):
    manage = tmp_path / "manage.py"
    manage.touch()
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.setattr(sys, "argv", [str(manage), "run_queues"])
    command = start_again("run_queues", ["--burst"])
    assert command[0] == sys.executable
    assert command[-3:] == [str(manage), "run_queues", "--burst"]


def test_called_from_a_program_it_is_started_by_django_itself(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])
    assert start_again("run_queues", [])[-3:] == ["-m", "django", "run_queues"]


@pytest.fixture
def lines(monkeypatch):
    """Lines as a project without logging of its own gets them."""
    stream = StringIO()
    for name, value in (("handlers", []), ("propagate", True), ("level", logging.NOTSET)):
        monkeypatch.setattr(logs.root, name, value)
    logging.getLogger("django_durable").manager._clear_cache()  # type: ignore[attr-defined]

    def configure(verbosity: int = 1, style: str | None = "text") -> StringIO:
        logs.configure(verbosity, style, stream)
        return stream

    undo = logs.connect()
    yield configure
    undo()
    logging.getLogger("django_durable").manager._clear_cache()  # type: ignore[attr-defined]


def ended(outcome: object) -> Span:
    return Span("workflow", {"workflow": "shop.fulfil", "id": "w1", "queue": "q", "outcome": outcome}, 0.012)


ENDS = [
    (Completed("secret"), "INFO", "succeeded"),
    (Failed(describe(ValueError("no stock\nat all"))), "WARNING", "failed: ValueError: no stock"),
    (Cancelled("{}"), "INFO", "cancelled"),
    (Parked("{}"), "ERROR", "parked"),
    (Deferred(5.0, failures=1), "INFO", "to be retried: due in 5.0 s"),
    (Deferred(5.0), "INFO", "set aside: due in 5.0 s"),
    (Overtaken(), "WARNING", "superseded"),
]


@pytest.mark.parametrize(("outcome", "level", "words"), ENDS, ids=lambda value: type(value).__name__)
def test_each_end_of_a_workflow_is_one_line(lines, outcome, level, words):
    stream = lines()
    report(ended(outcome))
    (line,) = stream.getvalue().splitlines()
    assert f" {level}" in line
    assert f"workflow: shop.fulfil w1 {words}" in line
    assert line.endswith("12 ms")
    assert "secret" not in line


def test_a_line_of_json_carries_its_facts(lines):
    stream = lines(style="json")
    report(ended(Completed("1")))
    line = json.loads(stream.getvalue())
    wanted = {
        "level": "INFO",
        "logger": "django_durable.workflow",
        "event": "workflow",
        "workflow_id": "w1",
        "workflow": "shop.fulfil",
        "queue": "q",
        "outcome": "succeeded",
        "seconds": 0.012,
    }
    assert {key: line[key] for key in wanted} == wanted
    assert line["at"].endswith("+00:00")


def test_a_traceback_in_json_is_one_text(lines):
    stream = lines(style="json")
    try:
        raise ValueError("x")
    except ValueError:
        logs.root.exception("it broke")
    assert "ValueError: x" in json.loads(stream.getvalue())["traceback"]


SHOWN = [(0, {"failed"}), (1, {"failed", "succeeded"}), (2, {"failed", "succeeded", "claim"})]


@pytest.mark.parametrize(("verbosity", "shown"), SHOWN)
def test_verbosity_is_a_level(lines, verbosity, shown):
    stream = lines(verbosity)
    report(ended(Failed(describe(ValueError()))))
    report(ended(Completed("1")))
    report(Span("claim", {"queue": "q", "claimed": 3}))
    text = stream.getvalue()
    assert {word for word in ("failed", "succeeded", "claim") if word in text} == shown


def test_a_fact_whose_name_the_log_uses_itself_is_told_under_another(lines):
    stream = lines(2, "json")
    report(Span("anything", {"name": "n", "args": 1}))
    line = json.loads(stream.getvalue())
    assert (line["name_"], line["args_"]) == ("n", 1)


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (
            Span("recovery", {"executors": ["e"], "returned": 2, "parked": 1}),
            "1 executors are lost: 2 workflows",
        ),
        (Span("deadlines", {"timed_out": 1, "expired": 2}), "1 workflows passed their deadline, 2 expired"),
        (Span("prune", {"runs": {"SUCCESS": 3}, "starts": 0}), "pruned 3 workflows"),
        (
            Span("workflow.unknown", {"workflow": "w", "id": "i", "problem": "no code"}),
            "w i is left to others: no code",
        ),
    ],
)
def test_what_maintenance_did_is_one_line(lines, span, words):
    stream = lines()
    report(span)
    assert words in stream.getvalue()


def test_a_project_that_logs_is_left_to_it(lines):
    own = logging.Handler()
    logs.root.addHandler(own)
    lines(style=None)
    assert logs.root.handlers == [own]
    assert logs.root.propagate


WITHOUT_PSYCOPG_3 = """
import sys
sys.modules["psycopg"] = None
from django.conf import settings
lite = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
apps = ["django.contrib.contenttypes", "django_durable"]
settings.configure(DATABASES={"default": lite}, INSTALLED_APPS=apps, SECRET_KEY="for tests only")
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "run_queues"])
"""


def test_without_psycopg_3_it_says_so_in_one_line():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PSYCOPG_3],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("CommandError: psycopg 3 cannot be loaded: ")
    assert "pip install" in line


@pytest.mark.parametrize("option", ["--queue", "--exclude"])
@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 256])
def test_a_name_that_no_queue_can_have_is_refused(capsys, option, name):
    parser = ArgumentParser()
    add_arguments(parser)
    with pytest.raises(SystemExit):
        parser.parse_args([f"{option}={name}"])
    assert f"argument {option}: queue name" in capsys.readouterr().err
