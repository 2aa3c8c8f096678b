"""One agent: trace facts first, gpus.toml second, nothing guessed."""

from __future__ import annotations

import pytest

from rocperf.hardware import Gpu, KernelResources, resident_occupancy, target_facts

MI325X: dict[str, object] = {
    "agent_id": 2,
    "kind": "GPU",
    "target": "gfx942",
    "product": "AMD Instinct MI325X",
    "cu_count": 304,
    "num_xcc": 8,
    "simd_per_cu": 4,
    "shader_engines": 32,
    "wave_size": 64,
    "max_waves_per_simd": 8,
    "lds_bytes_per_cu": 65536,
    "clock_mhz": 2100,
}


def gpu(**row: object) -> Gpu:
    return Gpu.from_agent({"agent_id": 1} | row)


def test_the_trace_goes_first() -> None:
    got = Gpu.from_agent(MI325X | {"cu_count": 300, "clock_mhz": 1900})
    assert (got.agent_id, got.cu_count, got.clock_mhz) == (2, 300, 1900)
    assert got.source("cu_count") == got.source("cus") == "trace"
    assert got.hw("clock_hz") == 1.9e9
    assert got.source("l1_line") == "gpus.toml"


def test_figures_of_a_whole_mi325x() -> None:
    got = Gpu.from_agent(MI325X)
    assert got.hw("simds") == 1216
    assert got.hw("max_waves_per_cu") == 32
    assert got.hw("l2_channels") == 128
    assert got.l2_bytes == 33554432
    assert got.dram_bytes_per_s == 6e12
    # 304 CUs x 2048 a clock x 2.1 GHz = 1307.4 TFLOP/s
    assert got.hw("matrix_fp16_flops_per_clk") == 304 * 2048
    assert got.hw("l2_bytes_per_clk") == 128 * 128
    assert got.source("shader_engines") == "trace"
    figure = got.figure("dram_bytes_per_s")
    assert figure is not None
    assert figure.source == "WEB"


def test_shader_engines_by_die() -> None:
    untold = {"shader_engines": None}
    assert Gpu.from_agent(MI325X | untold).shader_engines == 32
    mi210 = gpu(target="gfx90a", product="AMD Instinct MI210", cu_count=104)
    assert mi210.shader_engines == 8
    assert (mi210.num_xcc, mi210.source("num_xcc")) == (1, "gpus.toml")


def test_a_partition_is_not_the_product() -> None:
    # One XCC of eight (CPX): bandwidth, cache and memory of the whole do not hold.
    part = Gpu.from_agent(MI325X | {"cu_count": 38, "num_xcc": 1, "shader_engines": None})
    assert (part.cu_count, part.num_xcc, part.shader_engines) == (38, 1, 4)
    assert part.dram_bytes_per_s is None
    assert part.l3_bytes is None
    assert part.memory_bytes is None
    assert part.notes == ()


def test_untold_shape_of_a_partitionable_product() -> None:
    bare = gpu(target="gfx942", product="AMD Instinct MI300X")
    assert bare.cu_count is None
    assert bare.num_xcc is None
    spx = gpu(target="gfx942", product="AMD Instinct MI300X", compute_partition="SPX")
    assert (spx.cu_count, spx.num_xcc, spx.source("cu_count")) == (304, 8, "gpus.toml")


def test_an_impossible_number_of_dies_is_refused() -> None:
    # Old tools write one XCC for an MI300X with all its 304 CUs.
    got = gpu(target="gfx942", product="MI300", cu_count=304, num_xcc=1)
    assert got.num_xcc is None
    named = gpu(target="gfx942", product="AMD Instinct MI300X", cu_count=304, num_xcc=1)
    assert (named.num_xcc, named.source("num_xcc")) == (8, "gpus.toml")
    assert "304 CUs on 1 XCC" in named.notes[0]


def test_a_general_name_keeps_what_its_products_agree_on() -> None:
    # Recorded: an MI350X or MI355X calls itself "AMD Radeon Graphics".
    got = gpu(target="gfx950", product="AMD Radeon Graphics", cu_count=256, num_xcc=8)
    assert {name for p in got.products for name in p.names} == {"MI350X", "MI355X"}
    assert got.dram_bytes_per_s == 8e12
    assert got.clock_mhz is None  # 2200 or 2400
    link = got.host_link()
    assert link is not None
    assert link.name == "PCIe Gen5 x16"


def test_general_names_of_radeon_cards_say_nothing() -> None:
    got = gpu(target="gfx1102", product="AMD Radeon Graphics", cu_count=32)
    assert got.products == ()
    assert got.memory_bytes is None


@pytest.mark.parametrize(
    ("target", "product", "name"),
    [
        ("gfx1201", "AMD Radeon RX 9070 XT", "RX 9070 XT"),
        ("gfx1201", "AMD Radeon RX 9070", "RX 9070"),
        ("gfx90a", "AMD Instinct MI250X/MI250", "MI250X"),
        ("gfx942", "AMD_Instinct_MI300X_OAM", "MI300X"),
        ("gfx906", "AMD Radeon VII", "Radeon VII"),
        ("gfx1151", "AMD Radeon 8060S Graphics", "8060S"),
    ],
)
def test_product_names(target: str, product: str, name: str) -> None:
    (found,) = gpu(target=target, product=product).products
    assert name in found.names


def test_unlisted_products_get_the_figures_of_the_target_only() -> None:
    got = gpu(target="gfx942", product="AMD Instinct MI399X", cu_count=304, num_xcc=8)
    assert got.dram_bytes_per_s is None
    assert got.hw("l1_line") == 128


def test_unknown_targets_keep_only_what_the_trace_says() -> None:
    got = gpu(target="gfx1300", product="AMD Radeon RX 10070", cu_count=64, wave_size=32)
    assert got.facts is None
    assert (got.cu_count, got.wave_size, got.num_xcc) == (64, 32, None)
    assert got.hw("l2_line") is None
    assert got.source("l2_line") is None
    assert got.lds_bytes_per_cu is None


def test_zero_and_nonsense_mean_unknown() -> None:
    got = gpu(cu_count=0, clock_mhz=float("nan"), wave_size="64", num_xcc=True)
    assert (got.cu_count, got.clock_mhz, got.wave_size, got.num_xcc) == (None, None, None, None)
    assert got.hw("clock_hz") is None


def test_unknown_names_are_refused() -> None:
    with pytest.raises(KeyError, match=r"hw\.cuz is not a hardware figure"):
        gpu(target="gfx942").hw("cuz")


def test_gpus_can_be_compared_and_hashed() -> None:
    assert Gpu.from_agent(MI325X) == Gpu.from_agent(dict(MI325X))
    assert len({Gpu.from_agent(MI325X), Gpu.from_agent(MI325X)}) == 1


def test_occupancy_follows_the_compute_unit_of_the_trace() -> None:
    same = Gpu.from_agent(MI325X)
    assert same.facts is target_facts("gfx942")
    assert same.notes == ()
    # A part with twice the LDS and 10 wave slots: 4 workgroups of 32 KiB, then 10 waves a SIMD.
    other = Gpu.from_agent(MI325X | {"lds_bytes_per_cu": 131072, "max_waves_per_simd": 10})
    assert other.facts is not None
    lds = KernelResources(vgpr=32, workgroup_size=256, lds_bytes=32768)
    assert resident_occupancy(other.facts, lds).workgroups == 4
    assert resident_occupancy(target_facts("gfx942") or other.facts, lds).workgroups == 2
    few = KernelResources(vgpr=32, workgroup_size=256)
    assert resident_occupancy(other.facts, few).waves_per_simd == 10
    big = KernelResources(vgpr=32, workgroup_size=256, lds_bytes=131072)
    assert resident_occupancy(other.facts, big).workgroups == 1
    assert any("lds_bytes_per_cu 131072, the table 65536" in note for note in other.notes)
    assert target_facts("gfx942") is same.facts


def test_a_workgroup_of_rdna_gets_no_more_than_its_cap() -> None:
    got = gpu(target="gfx1201", cu_count=64, lds_bytes_per_cu=131072)
    assert got.facts is not None
    assert got.facts.limits().lds_bytes == 262144
    assert got.facts.limits().max_lds_bytes == 65536


def test_the_trace_tells_the_usual_wave_size() -> None:
    got = gpu(target="gfx1100", cu_count=96, wave_size=64)
    assert got.facts is not None
    assert got.facts.wave_sizes == (64, 32)
    # gfx942 has no waves of 32 lanes, whatever is written.
    odd = gpu(target="gfx942", cu_count=304, num_xcc=8, wave_size=32)
    assert odd.facts is not None
    assert odd.facts.wave_sizes == (64,)
    assert (odd.wave_size, odd.source("wave_size")) == (64, "gpus.toml")
    assert any("which it cannot have" in note for note in odd.notes)


def test_one_die_of_eight_keeps_what_is_its_own() -> None:
    # CPX of an MI300X, as recorded: 38 compute units, 152 SIMDs, one die.
    part = gpu(
        target="gfx942", product="AMD Instinct MI300X", cu_count=38, num_xcc=1, clock_mhz=2100,
        simd_per_cu=4, lds_bytes_per_cu=65536, max_waves_per_simd=8, compute_partition="CPX",
        memory_partition="NPS4",
    )  # fmt: skip
    assert part.hw("simds") == 152
    assert part.hw("l2_channels") == 16
    assert part.hw("l2_bytes") == 4 * 1024 * 1024
    assert part.hw("shader_engines") == 4
    assert part.hw("vector_fp64_flops_per_clk") == 38 * 128
    # What the product shares among its parts is not stated for one of them.
    for name in ("dram_bytes_per_s", "dram_copy_bytes_per_s", "l3_bytes", "memory_bytes"):
        assert part.hw(name) is None
