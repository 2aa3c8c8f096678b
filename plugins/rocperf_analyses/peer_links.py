"""Whether copies between GPUs take the fast link, and whether one link is slower than others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import peer_pairs
from rocperf_analyses.timeline import lasting

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

_ENABLE = (
    "Call hipDeviceEnablePeerAccess for both GPUs and copy with hipMemcpyPeerAsync (or "
    "hipMemcpyAsync with hipMemcpyDeviceToDevice) straight from buffer to buffer."
)
_PLACE = (
    "Let GPUs of one hive exchange data: choose them with HIP_VISIBLE_DEVICES, or order the ranks "
    "so that neighbours share a hive (rocm-smi --showtopo shows which do)."
)
_CHECK = (
    "Look for errors and a lower width or speed of this link: rocm-smi --showtopo, amd-smi xgmi, "
    "dmesg; the pbqt module of ROCm Validation Suite measures each pair."
)


@dataclass(frozen=True)
class PeerOptions(rocperf.Options):
    """Options of `PeerLinks`."""

    large: int = option(
        1 << 20,
        help="Size from which a copy is judged by its rate; below, latency counts. Ours.",
        unit="B",
        minimum=1 << 16,
    )
    min_share: float = option(
        0.01,
        help="Leave out savings below this share of wall (else kernel) time; ours.",
        minimum=0,
        maximum=1,
    )
    slow_pair: float = option(
        0.6,
        help="Share of the median pair's rate below which a pair is suspicious; ours.",
        minimum=0,
        maximum=1,
    )
    min_efficiency: float = option(
        0.5,
        help="Share of what the links of a pair do below which it is slow; ours.",
        minimum=0,
        maximum=1,
    )


class PeerLinks(rocperf.Analysis[PeerOptions]):
    """Compare pairs of GPUs with each other and with the topology."""

    id = "peer-links"
    title = "Links between GPUs"
    requires = Requires(tables=("copies",), columns=("copies.bytes",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding an ordered pair of GPUs, and one for both ways of a pair."""
        whole = profile.wall_ns or profile.kernel_ns
        params = {"large": self.options.large}
        found: list[Finding | None] = [
            _staged(profile, row, params)
            for row in profile.sql(peer_pairs.STAGED, params).to_dicts()
        ]
        pairs = profile.sql(peer_pairs.PAIRS, params).to_dicts()
        for row in pairs:
            row["rate"] = row["bytes"] / row["busy_ns"]  # bytes a nanosecond are GB/s
        for row in pairs:
            finding = self._pair(profile, row, pairs, params)
            found += [finding] if finding else [_both_ways(profile, row, params)]
        for finding in found:
            if finding is None:
                continue
            saves = finding.saves_ns
            if saves is None or whole is None or saves >= max(1, self.options.min_share * whole):
                yield _capped(finding, whole)

    def _pair(
        self,
        profile: Profile,
        row: Mapping[str, Any],
        pairs: list[dict[str, Any]],
        params: Mapping[str, Any],
    ) -> Finding | None:
        """Say the first of what is wrong with a pair; the rest would follow from it."""
        if row["link"] == "pcie" and row["xgmi_links"]:
            return _over_pcie(profile, row, params)
        alike = [
            each["rate"]
            for each in pairs
            if (each["link"], each["stated"]) == (row["link"], row["stated"])
        ]
        usual = median(alike)
        if len(alike) > 2 and row["rate"] < self.options.slow_pair * usual:
            return _slow_link(row, usual, len(alike), params)
        gpu = profile.gpu_of(row["run_id"], row["src"])
        best = peer_pairs.best_of(profile, dict(row))
        # Where a product alone tells the link, memcpy-bandwidth has judged the copies.
        if row["link"] != "xgmi" or best is None or gpu is None or gpu.peer_link() is not None:
            return None
        if row["rate"] * 1e9 >= self.options.min_efficiency * best.rate:
            return None
        return _below(row, best, params)


def _capped(finding: Finding, whole: int | None) -> Finding:
    """Let no finding save more than there is."""
    if finding.saves_ns is None or whole is None or finding.saves_ns <= whole:
        return finding
    return replace(finding, saves_ns=whole)


def _subject(row: Mapping[str, Any]) -> Subject:
    keys = {name: row[name] for name in ("run_id", "src", "dst")}
    return Subject("copy", f"GPU agent {row['src']} to {row['dst']}, run {row['run_id']}", keys)


def _copies(row: Mapping[str, Any], many: str, one: str) -> str:
    """Begin a title: how many copies, between which GPUs, and what they do."""
    single = row["copies"] == 1
    count = "1 copy" if single else f"{row['copies']:,} copies"
    return f"{count} from GPU agent {row['src']} to {row['dst']} {one if single else many}"


def _query(row: Mapping[str, Any], params: Mapping[str, Any], sql: str) -> Query:
    keys = {name: row[name] for name in ("run_id", "src", "dst")}
    return Query("rates by size", sql, {**params, **keys})


def _staged(profile: Profile, row: dict[str, Any], params: Mapping[str, Any]) -> Finding:
    best = peer_pairs.best_of(profile, row)
    rate = row["bytes"] / row["ns"]
    doubts = [] if row["sure"] else ["the host may use the data between the two halves"]
    if best is None:
        doubts.append("what the link between the two does is not known")
    saves = None if best is None else max(0, row["ns"] - round(row["bytes"] / best.rate * 1e9))
    return Finding(
        rule="peer-links/through-host",
        subject=_subject(row),
        title=f"{_copies(row, 'go', 'goes')} through the host at {rate:.1f} GB/s, "
        f"{lasting(row['ns'])} for both halves",
        advice=_ENABLE,
        saves_ns=saves,
        reasoning="Without the link's rate there is no bound."
        if best is None
        else f"Over {best.link.name} the same bytes take {row['bytes'] / best.rate * 1e3:.3g} ms.",
        confidence="medium" if doubts else "high",
        doubts=tuple(doubts),
        evidence=(
            Measure("bytes copied", row["bytes"], "B"),
            Measure("rate of both halves together", rate, "GB/s"),
            _query(row, params, peer_pairs.STAGED_SIZES),
        ),
    )


def _over_pcie(profile: Profile, row: Mapping[str, Any], params: Mapping[str, Any]) -> Finding:
    best = peer_pairs.best_of(profile, {**row, "stated": None})
    one = best
    if one is None:
        gpu = profile.gpu_of(row["run_id"], row["src"])
        link = gpu.peer_link(1) if gpu is not None else None
        if link is not None:
            rate = link.achievable_bytes_per_s or link.peak_bytes_per_s
            one = peer_pairs.Best(link, rate, not link.unconfirmed)
    saves = None if one is None else max(0, row["busy_ns"] - round(row["bytes"] / one.rate * 1e9))
    return Finding(
        rule="peer-links/pcie",
        subject=_subject(row),
        title=f"{_copies(row, 'cross', 'crosses')} PCIe at {row['rate']:.1f} GB/s, though "
        "these GPUs have xGMI to others",
        advice=_PLACE,
        saves_ns=saves,
        reasoning="Without the rate of xGMI there is no bound."
        if one is None
        else f"Over {one.link.name} the same bytes take {row['bytes'] / one.rate * 1e3:.3g} ms.",
        confidence="medium",
        doubts=(
            "another placement makes other pairs exchange data over PCIe, unless the work "
            "is split by hive",
        ),
        evidence=_evidence(row, None, params),
    )


def _slow_link(
    row: Mapping[str, Any], usual: float, count: int, params: Mapping[str, Any]
) -> Finding:
    return Finding(
        rule="peer-links/slow-link",
        subject=_subject(row),
        title=f"{_copies(row, 'run', 'runs')} at {row['rate']:.1f} GB/s; "
        f"the median of {count} such pairs is {usual:.1f}",
        advice=_CHECK,
        saves_ns=max(0, row["busy_ns"] - round(row["bytes"] / usual)),
        reasoning=f"At {usual:.1f} GB/s, the median, the same bytes take so much less.",
        confidence="medium",
        doubts=("the pair may have shared its GPUs with more other work than others did",),
        evidence=_evidence(row, usual, params),
    )


def _below(row: Mapping[str, Any], best: peer_pairs.Best, params: Mapping[str, Any]) -> Finding:
    rate = best.rate / 1e9
    return Finding(
        rule="peer-links/slow",
        subject=_subject(row),
        title=f"{_copies(row, 'run', 'runs')} at {row['rate']:.1f} GB/s; "
        f"{best.link.name} does {rate:.0f} GB/s",
        advice=f"{_ENABLE} {_CHECK}",
        saves_ns=max(0, row["busy_ns"] - round(row["bytes"] / rate)),
        reasoning=f"At {rate:.0f} GB/s the same bytes take so much less.",
        confidence="high" if best.sure else "medium",
        doubts=() if best.sure else ("no vendor source confirms the rate of the link",),
        evidence=_evidence(row, rate, params),
    )


def _both_ways(profile: Profile, row: dict[str, Any], params: Mapping[str, Any]) -> Finding | None:
    """Hold both directions at once against what AMD's acceptance test asks for; once a pair."""
    best = peer_pairs.best_of(profile, row)
    floor = best.link.floor_bidirectional_bytes_per_s if best is not None else None
    if row["src"] > row["dst"] or row["link"] != "xgmi" or not row["both_ns"] or floor is None:
        return None
    rate = row["both_bytes"] / row["both_ns"]
    if rate * 1e9 >= floor:
        return None
    return Finding(
        rule="peer-links/both-ways",
        subject=_subject(row),
        title=f"GPU agents {row['src']} and {row['dst']} exchange {rate:.1f} GB/s both ways at "
        f"once; AMD's acceptance test asks for {floor / 1e9:.1f}",
        advice="Copy one way after the other where the data allow it, or by kernels instead of "
        f"SDMA engines (HSA_ENABLE_SDMA=0, which uses compute units). {_CHECK}",
        saves_ns=max(0, row["both_ns"] - round(row["both_bytes"] / floor * 1e9)),
        reasoning=f"At {floor / 1e9:.1f} GB/s the bytes of that time take so much less.",
        confidence="medium",
        doubts=("copies are taken to move their bytes evenly",),
        evidence=(
            Measure("time with both directions", row["both_ns"] / 1e6, "ms"),
            *_evidence(row, None, params),
        ),
    )


def _evidence(
    row: Mapping[str, Any], limit: float | None, params: Mapping[str, Any]
) -> tuple[Measure | Query, ...]:
    return (
        Measure("rate of large copies together", row["rate"], "GB/s", limit=limit),
        Measure("bytes copied", row["bytes"], "B"),
        _query(row, params, peer_pairs.PAIR_SIZES),
    )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[PeerLinks]]:
    """Register the analysis."""
    return [PeerLinks]
