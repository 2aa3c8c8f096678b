"""rocprof v1 and v2: databases, Chrome traces and CSV, through the sink of the product."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.errors import InputError
from rocperf.ingest import rocprof_v1
from rocperf.ingest.sink import INCOMING, StoreSink
from rocperf.ingest.source import SourceFile
from rocperf.store import Store

Ask = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Ask]:
    def reading(*paths: Path) -> Ask:
        sources = [s for p in paths if (s := rocprof_v1.recognise(p, p.read_bytes()[:65536]))]
        store = Store.create(tmp_path / "out.rocperf")
        sink = StoreSink(store, sum(s.size for s in sources), None)
        rocprof_v1.read(sources, sink)

        def ask(sql: str) -> list[tuple[object, ...]]:
            return store.connection.execute(sql.replace("DISPATCHES", INCOMING)).fetchall()

        return ask

    return reading


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


@pytest.mark.parametrize(
    ("trace", "total"),
    [("rocprof_v1_basic_row", 842048061), ("rocprof_v1_blocked_matmul_32", 108409631)],
)
def test_matrix_product_takes_what_its_summary_says(
    recorded: Callable[[str], Path], read: Callable[..., Ask], trace: str, total: int
) -> None:
    ask = read(*files_of(recorded(trace)))
    kernels = ask("SELECT kernel, count(*), sum(end_ns - start_ns) FROM DISPATCHES GROUP BY 1")
    assert kernels == [("matmul_kernel", 11, total)]
    copies = ask("SELECT direction, count(*), min(bytes), max(bytes) FROM copies GROUP BY 1")
    # Each copy is that of one hipMemcpy of 66,977,856 bytes.
    assert sorted(copies) == [
        ("device_to_host", 11, 66977856, 66977856),
        ("host_to_device", 33, 66977856, 66977856),
    ]
    assert ask("SELECT count(*) FROM api_calls WHERE domain = 'hip'") == [(220,)]
    assert ask("SELECT count(*) FROM api_calls WHERE domain = 'hsa'") == [(1723,)]


def test_kokkos_ranges_and_kernels(
    recorded: Callable[[str], Path], read: Callable[..., Ask]
) -> None:
    folder = recorded("rocprof_v1_kokkos")
    ask = read(folder / "results.db", folder / "results.json")
    assert ask("SELECT count(*) FROM DISPATCHES") == [(14,)]
    # 30 records of which six are fills.
    assert ask("SELECT count(*) FROM copies") == [(24,)]
    marks = ask("SELECT message FROM markers WHERE kind = 'mark' ORDER BY start_ns")
    assert marks == [("Kokkos::Initialization Complete",), ("Kokkos::Finalization Complete",)]
    assert ask("SELECT count(*) FROM markers WHERE kind = 'range'") == [(7,)]


def test_chrome_trace_alone_gives_the_same_kernels(
    recorded: Callable[[str], Path], read: Callable[..., Ask]
) -> None:
    ask = read(recorded("rocprof_v1_basic_row") / "results.json")
    assert ask("SELECT count(*), sum(end_ns - start_ns) FROM DISPATCHES") == [(11, 842048061)]
    assert ask("SELECT count(*), count(bytes) FROM copies") == [(44, 0)]
    assert ask("SELECT count(*) FROM api_calls") == [(1943,)]


def test_derived_columns_keep_their_names(tmp_path: Path, read: Callable[..., Ask]) -> None:
    path = tmp_path / "results.csv"
    path.write_text(
        "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,"
        "accum_vgpr,sgpr,wave_size,sig,obj,VALUInsts\n"
        '0,"f(float, int) [clone .kd]",2,0,0,7,8,1024,256,512,0,8,0,16,64,0x0,0x7f0,17.5\n',
        encoding="utf-8",
    )
    ask = read(path)
    assert ask("SELECT counter, value FROM counter_values") == [("VALUInsts", 17.5)]
    assert ask("SELECT agent_id, grid_size, lds_bytes, vgpr, agpr, kernel FROM DISPATCHES") == [
        (2, 1024, 512, 8, 0, "f(float, int) [clone .kd]")
    ]


def test_truncated_trace_is_refused_by_name(
    recorded: Callable[[str], Path], read: Callable[..., Ask], tmp_path: Path
) -> None:
    whole = (recorded("rocprof_v1_basic_row") / "results.json").read_bytes()
    cut = tmp_path / "results.json"
    cut.write_bytes(whole[:200_000])
    with pytest.raises(InputError, match=r"results\.json"):
        read(cut)


def test_damaged_database_is_refused_by_name(
    recorded: Callable[[str], Path], read: Callable[..., Ask], tmp_path: Path
) -> None:
    whole = (recorded("rocprof_v1_basic_row") / "results.db").read_bytes()
    cut = tmp_path / "results.db"
    cut.write_bytes(whole[:20_000])
    with pytest.raises(InputError, match=r"results\.db: damaged"):
        read(cut)


def test_databases_of_others_are_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE songs (name TEXT)")
    database.close()
    assert rocprof_v1.recognise(path, path.read_bytes()) is None
    found: SourceFile | None = rocprof_v1.recognise(path, b"Name,Calls\n")
    assert found is None
