"""Copies between GPUs by pair: how fast, both ways at once, over which link, through the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile
    from rocperf.hardware import Link

#: Large copies of timing runs, where there are any.
KEPT = """
WITH kept AS (
    SELECT c.*, c.end_ns - c.start_ns AS ns FROM copies c JOIN runs r USING (run_id)
    WHERE c.end_ns > c.start_ns AND c.bytes >= $large
      AND (r.role = 'timing' OR NOT EXISTS (FROM runs WHERE role = 'timing'))
)"""
#: What joins two GPUs: a link of the driver's topology, else the hives that the agents state.
#: An agent that is in no hive has 0.
_JOINED = """, joined AS (
    SELECT run_id, from_agent_id AS src, to_agent_id AS dst, max(max_bandwidth) AS stated,
           bool_or(kind = 'xgmi') AS xgmi FROM links GROUP BY ALL
)"""
_CLASS = """CASE WHEN j.xgmi THEN 'xgmi' WHEN j.xgmi IS NOT NULL THEN 'pcie'
    WHEN a.hive_id > 0 AND a.hive_id = b.hive_id THEN 'xgmi'
    WHEN a.hive_id IS NOT NULL AND b.hive_id IS NOT NULL THEN 'pcie' END"""
#: A row an ordered pair. Between one edge and the next as many copies run in each direction as
#: the running sums say; a copy moves its bytes evenly. `both_bytes` are those of both directions
#: while both ran. `xgmi_links` are the links of either GPU to others.
PAIRS = (
    KEPT
    + _JOINED
    + f""", peer AS (
    SELECT run_id, src_agent_id AS src, dst_agent_id AS dst, bytes, ns, start_ns, end_ns
    FROM kept WHERE direction = 'device_to_device' AND src_agent_id <> dst_agent_id
), edges AS (
    SELECT run_id, least(src, dst) AS low, greatest(src, dst) AS high, src < dst AS up,
           start_ns AS edge_ns, 1 AS step, bytes / ns AS rate FROM peer
    UNION ALL
    SELECT run_id, least(src, dst), greatest(src, dst), src < dst, end_ns, -1,
           -(bytes / ns) FROM peer
), levels AS (
    SELECT run_id, low, high, lead(edge_ns) OVER w - edge_ns AS ns,
           sum(CASE WHEN up THEN step ELSE 0 END) OVER w AS ups,
           sum(CASE WHEN up THEN 0 ELSE step END) OVER w AS downs, sum(rate) OVER w AS rate
    FROM edges WINDOW w AS (PARTITION BY run_id, low, high ORDER BY edge_ns, step
                            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), times AS (
    SELECT run_id, low, high, sum(ns) FILTER (ups > 0)::BIGINT AS up_ns,
           sum(ns) FILTER (downs > 0)::BIGINT AS down_ns,
           coalesce(sum(ns) FILTER (ups > 0 AND downs > 0), 0)::BIGINT AS both_ns,
           coalesce(sum(ns * rate) FILTER (ups > 0 AND downs > 0), 0) AS both_bytes
    FROM levels GROUP BY ALL
), sums AS (
    SELECT run_id, src, dst, count(*) AS copies, sum(bytes)::BIGINT AS bytes
    FROM peer GROUP BY ALL
)
SELECT s.*, CASE WHEN s.src < s.dst THEN up_ns ELSE down_ns END AS busy_ns, both_ns, both_bytes,
       j.stated, {_CLASS} AS link,
       (SELECT count(*) FROM joined o WHERE o.run_id = s.run_id AND o.xgmi
        AND (o.src = s.src OR o.src = s.dst)) AS xgmi_links
FROM sums s JOIN times t ON t.run_id = s.run_id AND t.low = least(s.src, s.dst)
    AND t.high = greatest(s.src, s.dst)
LEFT JOIN joined j ON j.run_id = s.run_id AND j.src = s.src AND j.dst = s.dst
LEFT JOIN agents a ON a.run_id = s.run_id AND a.agent_id = s.src
LEFT JOIN agents b ON b.run_id = s.run_id AND b.agent_id = s.dst
ORDER BY busy_ns DESC, s.run_id, s.src, s.dst
"""
)
PAIR_SIZES = (
    KEPT
    + """
SELECT bytes, count(*) AS copies, sum(bytes) / sum(ns) AS gb_per_s, min(bytes / ns) AS slowest,
       max(bytes / ns) AS fastest
FROM kept WHERE direction = 'device_to_device' AND run_id = $run_id AND src_agent_id = $src
  AND dst_agent_id = $dst GROUP BY bytes ORDER BY bytes
"""
)
#: What left one GPU for the host and went from there to another. The two halves belong to one
#: call, or the second reads what the first wrote last to that host address.
_STAGED = (
    KEPT
    + """, away AS (
    SELECT * FROM kept WHERE direction = 'device_to_host'
), back AS (
    SELECT * FROM kept WHERE direction = 'host_to_device'
), one_call AS (
    SELECT o.run_id, o.src, b.dst, o.bytes, o.ns + b.ns AS ns, true AS sure, o.correlation_id
    FROM (SELECT run_id, correlation_id, src_agent_id AS src, sum(bytes) AS bytes, sum(ns) AS ns
          FROM away WHERE correlation_id > 0 GROUP BY ALL) o
    JOIN (SELECT run_id, correlation_id, dst_agent_id AS dst, sum(bytes) AS bytes, sum(ns) AS ns
          FROM back WHERE correlation_id > 0 GROUP BY ALL) b
      ON b.run_id = o.run_id AND b.correlation_id = o.correlation_id AND b.bytes = o.bytes
      AND b.dst <> o.src
), one_buffer AS (
    SELECT b.run_id, o.src_agent_id AS src, b.dst_agent_id AS dst, b.bytes, o.ns + b.ns AS ns,
           false AS sure, b.correlation_id
    FROM back b ASOF JOIN away o ON o.run_id = b.run_id AND o.dst_address = b.src_address
      AND o.bytes = b.bytes AND o.end_ns <= b.start_ns
    WHERE o.src_agent_id <> b.dst_agent_id AND b.src_address > 0
      AND (b.run_id, coalesce(b.correlation_id, 0)) NOT IN
          (SELECT (run_id, correlation_id) FROM one_call)
), staged AS (FROM one_call UNION ALL FROM one_buffer)"""
)
STAGED = (
    _STAGED
    + """
SELECT run_id, src, dst, count(*) AS copies, sum(bytes)::BIGINT AS bytes, sum(ns)::BIGINT AS ns,
       bool_and(sure) AS sure
FROM staged GROUP BY run_id, src, dst ORDER BY ns DESC, run_id, src, dst
"""
)
STAGED_SIZES = (
    _STAGED
    + """
SELECT bytes, sure, count(*) AS copies, sum(bytes) / sum(ns) AS gb_per_s FROM staged
WHERE run_id = $run_id AND src = $src AND dst = $dst GROUP BY ALL ORDER BY bytes, sure
"""
)


@dataclass(frozen=True)
class Best:
    """What the link of a pair does: its name, bytes a second one way, whether it is sure."""

    link: Link
    rate: float
    sure: bool


def best_of(profile: Profile, row: dict[str, Any]) -> Best | None:
    """Return what xGMI between two GPUs does; None where that is not known.

    Parameters
    ----------
    row
        Its ``run_id``, ``src``, and the rate that the driver has ``stated`` for its links, B/s or
        None: with it the number of links follows where it differs from pair to pair.
    """
    gpu = profile.gpu_of(row["run_id"], row["src"])
    if gpu is None:
        return None
    link, one = gpu.peer_link(), gpu.peer_link(1)
    stated = row.get("stated")
    if one is not None and stated:
        link = gpu.peer_link(max(1, round(stated / one.peak_bytes_per_s)))
    if link is None:
        return None
    return Best(link, link.achievable_bytes_per_s or link.peak_bytes_per_s, not link.unconfirmed)
