"""How fast collectives of known size ran, against what the links between the GPUs carry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Kernels of RCCL in the order in which each GPU ran them, `of` in all. Only of timing runs.
RANKS = """
WITH comm AS (
    SELECT d.run_id, d.agent_id, d.kernel_id, d.end_ns - d.start_ns AS ns,
           row_number() OVER (PARTITION BY d.run_id, d.agent_id
                              ORDER BY d.start_ns, d.dispatch_id) AS nth,
           count(*) OVER (PARTITION BY d.run_id, d.agent_id) AS of
    FROM dispatches d JOIN kernels k USING (kernel_id)
    WHERE k.role = 'communication' AND NOT d.serialised AND d.end_ns > d.start_ns
), nths AS (
    SELECT nth, min(ns) AS best, max(ns) AS worst, count(*) AS ranks,
           count(DISTINCT kernel_id) AS kinds
    FROM comm GROUP BY nth
)"""
#: Whether every rank ran the same kernels in the same order: then the nth is one collective.
ALIKE = (
    RANKS
    + """
SELECT count(DISTINCT (run_id, agent_id)) AS ranks, min(of) = max(of) AS even,
       (SELECT max(kinds) = 1 FROM nths) AS same, count(DISTINCT run_id) AS runs,
       count(DISTINCT r.hostname) AS hosts
FROM comm JOIN runs r USING (run_id)
"""
)
#: Bytes of a value, by the number and the name that RCCL has for it (nccl.h).
_TYPES = {
    1: ("0", "1", "10", "11", "int8", "char", "uint8", "float8e4m3", "float8e5m2"),
    2: ("6", "9", "float16", "half", "bfloat16"),
    4: ("2", "3", "7", "int32", "int", "uint32", "float32", "float"),
    8: ("4", "5", "8", "int64", "uint64", "float64", "double"),
}
#: Calls that start a kernel. A collective's payload and what each link carries of it, as
#: multiples of count * size for n ranks (rccl-tests, src/*.cu): the first is S, the second S times
#: the factor of the bus bandwidth. Others are not bound by the whole mesh and are not judged.
_JUDGED = {
    "ncclAllReduce": ("1", "2.0 * ($n - 1) / $n"),
    "ncclReduceScatter": ("$n", "$n - 1"),
    "ncclAllGather": ("$n", "$n - 1"),
    "ncclAllToAll": ("$n", "$n - 1"),
}
_LAUNCHING = (
    r"^nccl(AllReduce|ReduceScatter|AllGather|AllToAllv?|Broadcast|Bcast|Reduce|Gather|Scatter"
    r"|Send|Recv)$"
)
_VALUES = ", ".join(f"('{name}', {size})" for size, names in _TYPES.items() for name in names)
_KINDS = ", ".join(f"('{name}', {s}, {bus})" for name, (s, bus) in _JUDGED.items())
#: Collectives with a size, each with its kernel: the nth call of a run is its nth kernel where
#: there are as many of both; a group that fuses calls has fewer kernels, and is left out.
SIZED = (
    RANKS
    + f""", called AS (
    SELECT run_id, name, row_number() OVER w AS nth, count(*) OVER (PARTITION BY run_id) AS of,
           coalesce(TRY_CAST(json_extract_string(args, '$.count') AS BIGINT),
                    TRY_CAST(json_extract_string(args, '$.sendcount') AS BIGINT),
                    TRY_CAST(json_extract_string(args, '$.recvcount') AS BIGINT)) AS number,
           lower(regexp_replace(json_extract_string(args, '$.datatype'), '^nccl', '')) AS type
    FROM api_calls WHERE domain = 'rccl' AND regexp_matches(name, '{_LAUNCHING}')
    WINDOW w AS (PARTITION BY run_id ORDER BY start_ns, row)
), sized AS (
    SELECT a.name, a.nth, a.number * v.size * k.payload AS bytes, a.number * v.size * k.bus AS bus,
           CASE WHEN $alike THEN t.best ELSE c.ns END AS ns
    FROM called a JOIN comm c ON c.run_id = a.run_id AND c.nth = a.nth AND c.of = a.of
    JOIN nths t ON t.nth = a.nth
    JOIN (VALUES {_VALUES}) v(type, size) ON v.type = a.type
    JOIN (VALUES {_KINDS}) k(name, payload, bus) ON k.name = a.name
    WHERE (SELECT count(DISTINCT agent_id) FROM comm o WHERE o.run_id = a.run_id) = 1
)"""
)
RATES = (
    SIZED
    + """
SELECT name, count(*) AS calls, sum(bytes) AS bytes, sum(bus) AS bus, sum(ns)::BIGINT AS ns,
       max(bytes) AS largest
FROM sized WHERE bytes >= $large GROUP BY name ORDER BY ns DESC, name
"""
)
BY_SIZE = (
    SIZED
    + """
SELECT bytes, count(*) AS calls, sum(bus) / sum(ns) AS bus_gb_per_s,
       sum(bytes) / sum(ns) AS gb_per_s
FROM sized WHERE name = $name AND bytes >= $large GROUP BY bytes ORDER BY bytes
"""
)


@dataclass(frozen=True)
class Ranks:
    """Which GPUs communicate in a profile.

    Parameters
    ----------
    count
        GPUs that ran kernels of RCCL.
    alike
        Whether each ran the same kernels in the same order.
    one_host
        Whether all are in one host, as far as it is known.
    """

    count: int
    alike: bool
    one_host: bool


@dataclass(frozen=True)
class Mesh:
    """What all links of one GPU carry to the others: bytes a second, and how it follows."""

    rate: float
    words: str
    sure: bool


def ranks_of(profile: Profile) -> Ranks:
    """Tell which GPUs communicate; none where no kernel of RCCL ran."""
    row = profile.sql(ALIKE).row(0, named=True)
    alike = row["ranks"] > 1 and bool(row["even"]) and bool(row["same"])
    # Runs of unknown hosts may be anywhere.
    return Ranks(row["ranks"], alike, row["runs"] == 1 or row["hosts"] == 1)


def mesh_of(profile: Profile, ranks: Ranks, members: int) -> Mesh | None:
    """Return what the links to the other ranks carry; None where the topology does not tell.

    Parameters
    ----------
    ranks
        From `ranks_of`.
    members
        Ranks of the communicator.
    """
    gpus = [gpu for gpu in profile.gpus if gpu.target]
    if not ranks.one_host or not gpus or not _one_hive(profile, members):
        return None
    links = {gpu.peer_link() for gpu in gpus}
    link = links.pop() if len(links) == 1 else None
    if link is None or link.achievable_bytes_per_s is None:
        return None
    return Mesh(
        link.achievable_bytes_per_s * (members - 1),
        f"{members - 1} links of {link.achievable_bytes_per_s / 1e9:.0f} GB/s ({link.name})",
        sure=not link.unconfirmed,
    )


def _one_hive(profile: Profile, members: int) -> bool:
    """Tell whether a hive of the machine holds so many GPUs that all of them fit in."""
    most = profile.scalar(
        "SELECT max(n) FROM (SELECT count(*) AS n FROM agents WHERE kind = 'GPU' AND hive_id > 0"
        " GROUP BY run_id, hive_id)"
    )
    return members > 1 and (most or 0) >= members


def rates(
    profile: Profile, members: int, large: int, *, alike: bool
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield large collectives by function with the parameters of `BY_SIZE`.

    Each has ``name``, ``calls``, payload ``bytes``, bytes over the links ``bus``, and ``ns``.
    """
    params = {"n": members, "large": large, "alike": alike}
    for row in profile.sql(RATES, params).to_dicts():
        yield row, {**params, "name": row["name"]}
