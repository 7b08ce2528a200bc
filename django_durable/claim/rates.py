"""When a rate that stopped a claim lets something through again."""

from __future__ import annotations

from datetime import timedelta

from django_durable.core.planning.budget import SEPARATOR, QueueLimits, partition_bucket, queue_bucket
from django_durable.core.planning.stops import StoppedBy
from django_durable.models import database

MOST = 100  # partitions, and keys, in line order; the further ones are come back to with the queue's interval


def seconds_to_room(
    queue: str, limits: QueueLimits, stopped: StoppedBy, ago: float, using: str
) -> float | None:
    """Until the first start is possible again of what stopped a claim; None: it was no rate.

    `ago`: the seconds since that claim began; what has opened since gives 0 or less.
    """
    rates = _rates(queue, limits, stopped)
    keys = stopped.limit_keys[:MOST]
    if not (rates or keys):
        return None
    params = {
        "buckets": [bucket for bucket, _, _ in rates],
        "starts": [starts for _, starts, _ in rates],
        "seconds": [period.total_seconds() for _, _, period in rates],
        "keys": SEPARATOR.join(keys),
        "ago": ago,
    }
    ((seconds,),) = database.fetch("next_room", params, using)
    return None if seconds is None else float(seconds)


def _rates(queue: str, limits: QueueLimits, stopped: StoppedBy) -> list[tuple[str, int, timedelta]]:
    rates = []
    if stopped.queue and limits.rate_limit is not None and limits.rate_period is not None:
        rates.append((queue_bucket(queue), limits.rate_limit, limits.rate_period))
    starts, period = limits.partition_rate_limit, limits.partition_rate_period
    if starts is not None and period is not None:
        names = stopped.partitions[:MOST]
        rates += [(partition_bucket(queue, name), starts, period) for name in names]
    return rates
