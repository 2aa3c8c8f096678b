"""Every figure of gpus.toml against tables written from AMD's and LLVM's documents by hand.

A ``?`` marks what no primary source confirms, ``-`` what the GPU is known not to have, and
``.`` what is not known. A figure that these tables do not name fails the last test.
"""

from __future__ import annotations

import pytest

from rocperf.hardware import Figure, Gpu, GpuFacts, Product, known_targets, target_facts

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10

# product | CUs, XCCs, L2 MiB of a die, L3 MiB, memory GiB, clock MHz, memory GB/s, copy GB/s
PRODUCTS = """
gfx906 MI60           | 64 1 4 - 32 1800? 1024? .
gfx906 MI50           | 60 1 4 - . 1725? 1024? .
gfx906 Radeon VII     | 60 1 4 - 16 . . .
gfx906 Radeon Pro VII | 60 1 4 - 16 . . .
gfx908 MI100          | 120 1 8 - 32 1502 1228.8 940
gfx90a MI210          | 104 1 8 - 64 1700 1638.4 1230
gfx90a MI250          | 104 1 8 - 64 1700 1638.4 1200
gfx90a MI250X         | 110 1 8 - 64 1700 1638.4 .
gfx942 MI300A         | 228 6 4 256 128 2100? 5324.8 2900
gfx942 MI300X         | 304 8 4 256 192 2100 5324.8 4177
gfx942 MI325X         | 304 8 4 256 256 2100 6000 .
gfx942 MI308X         | . 4 4 . . . . .
gfx950 MI350X         | 256 8 4 256 288 2200 8000 .
gfx950 MI355X         | 256 8 4 256 288 2400 8000 .
gfx950 MI350P         | 128 4 4 128 144 . . .
gfx1030 RX 6800       | 60 1 4 128 16 . 512? .
gfx1030 RX 6800 XT    | 72 1 4 128 16 . 512? .
gfx1030 RX 6900 XT    | 80 1 4 128 16 . 512? .
gfx1030 RX 6950 XT    | 80 1 4 128 16 . 576? .
gfx1030 PRO W6800     | 60 1 4 128 32 . . .
gfx1030 PRO V620      | 72 1 4 128 32 . . .
gfx1100 RX 7900 XTX   | 96 1 6 96 24 2500? 960 .
gfx1100 RX 7900 XT    | 84 1 6 80 20 . 800 .
gfx1100 RX 7900 GRE   | 80 1 6 64 16 . . .
gfx1100 PRO W7900     | 96 1 6 96 48 . . .
gfx1100 PRO W7800     | 70 1 6 . . . . .
gfx1101 RX 7800 XT    | 60 1 4 64 16 . 624? .
gfx1101 RX 7700 XT    | 54 1 4 48 12 . 432? .
gfx1101 RX 7700       | 40 1 4 64 16 . . .
gfx1101 PRO W7700     | 48 1 4 64 16 . . .
gfx1101 PRO V710      | 54 1 4 56 28 . . .
gfx1102 RX 7600       | 32 1 2 32 8 . 288? .
gfx1150 890M          | 16 1 2 - - . 120? .
gfx1150 880M          | 12 1 2 - - . 120? .
gfx1151 8060S         | 40 1 2 32 - . 256? .
gfx1151 8065S         | 40 1 2 32 - . 256? .
gfx1151 8050S         | 32 1 2 32 - . 256? .
gfx1151 8040S         | 16 1 2 32 - . 256? .
gfx1200 RX 9060 XT    | 32 1 4 32 . . 320 .
gfx1200 RX 9060       | 28 1 4 32 8 . . .
gfx1200 RX 9050       | 16 1 2 . . . . .
gfx1201 RX 9070 XT    | 64 1 8 64 16 2970 640 .
gfx1201 RX 9070       | 56 1 8 64 16 . 640 .
gfx1201 RX 9070 GRE   | 48 1 6 48 . . 432 .
gfx1201 AI PRO R9700  | 64 1 8 64 32 . . .
gfx1201 AI PRO R9600  | 48 1 8 48 32 . . .
""".strip().splitlines()
PRODUCT_COLUMNS: tuple[tuple[tuple[str, ...], float], ...] = (
    (("cus",), 1),
    (("xccs", "xccs_per_device"), 1),
    (("l2_bytes_per_xcc",), MIB),
    (("l3_bytes",), MIB),
    (("vram_bytes",), GIB),
    (("clock_mhz",), 1),
    (("dram_bytes_per_s",), 1e9),
    (("dram_copy_bytes_per_s",), 1e9),
)

CDNA = ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950")
CDNA_TABLE = """
default_wave_size                    64 64 64 64 64
simds_per_cu                         4 4 4 4 4
cus_per_wgp                          1 1 1 1 1
max_waves_per_simd                   10 10 8 8 8
vgprs_per_simd_wave64                256 256 512 512 512
accum_vgprs_per_simd_wave64          . 256 . . .
vgpr_granule_wave64                  4 4 8 8 8
vgpr_encoding_granule_wave64         4 4 8 8 8
accum_offset_granule                 . . 4 4 4
max_vgprs_per_wave                   256 256 512 512 512
sgprs_per_simd                       800 800 800 800 800
sgpr_granule                         16 16 16 16 16
sgpr_trap_reserve                    16 16 16 16 16
max_sgprs_per_wave                   102 102 102 102 102
max_sgprs_with_extras                112 112 112 112 112
lds_bytes_per_cu                     65536 65536 65536 65536 163840
lds_bytes_per_workgroup              65536 65536 65536 65536 163840
lds_granule_bytes                    512 512 512 512 1280
workgroup_slots_per_cu               16 16 16 16 16
max_workgroup_size                   1024 1024 1024 1024 1024
lds_banks                            32 32 32 32 64
lds_bank_bytes                       4 4 4 4 4
lds_bytes_per_clk                    128 128 128 128 256
lds_bytes_per_clk_per_port           64 64 64 64 64
lds_write_bytes_per_clk              . . . . 128?
vgpr_file_bytes_per_cu               262144 524288 524288 524288 524288
scalar_cache_bytes                   16384 16384 16384 16384 16384
instruction_cache_bytes              32768 32768 32768 65536 65536
cus_per_scalar_cache                 3 3 2 2 2
l1_bytes                             16384 16384 16384 32768 32768
l1_line_bytes                        64 64 64 128 128
l1_bytes_per_clk                     64 64 64 128 128
l2_line_bytes                        64 64 128 128 128
l2_channels_per_xcc                  16? 32 32 16 16
l2_bytes_per_clk_per_channel         . 64 128? 128 128
shader_engines_per_xcc               4? 8 8 4 4
max_cus_per_xcc                      . . . 40 36
vector_fp64_flops_per_clk_per_cu     64 64 128 128 128?
vector_fp32_flops_per_clk_per_cu     128 128 128 256 256?
vector_fp32_packed_flops_per_clk_per_cu . . 256 . .
vector_fp16_flops_per_clk_per_cu     256? 256? 256? 256? 256?
matrix_fp64_flops_per_clk_per_cu     - - 256 256 128
matrix_fp32_flops_per_clk_per_cu     - 256 256 256 256
matrix_xf32_flops_per_clk_per_cu     - - - 1024 -
matrix_fp16_flops_per_clk_per_cu     - 1024 1024 2048 4096
matrix_bf16_flops_per_clk_per_cu     - 512 1024 2048 4096
matrix_fp8_flops_per_clk_per_cu      - - - 4096 8192
matrix_fp6_flops_per_clk_per_cu      - - - - 16384
matrix_fp4_flops_per_clk_per_cu      - - - - 16384
matrix_int8_ops_per_clk_per_cu       - 1024 1024 4096 8192
"""
RDNA = ("gfx1030", "gfx1102", "gfx1150", "gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201")
RDNA_TABLE = """
default_wave_size                    32 32 32 32 32 32 32 32
simds_per_cu                         2 2 2 2 2 2 2 2
cus_per_wgp                          2 2 2 2 2 2 2 2
max_waves_per_simd                   16 16 16 16 16 16 16 16
vgprs_per_simd_wave32                1024 1024 1024 1536 1536 1536 1536 1536
vgprs_per_simd_wave64                512 512 512 768 768 768 768 768
vgpr_granule_wave32                  16 16 16 24 24 24 24 24
vgpr_granule_wave64                  8 8 8 12 12 12 12 12
vgpr_encoding_granule_wave32         8 8 8 8 8 8 8 8
vgpr_encoding_granule_wave64         4 4 4 4 4 4 4 4
max_vgprs_per_wave                   256 256 256 256 256 256 256 256
max_sgprs_per_wave                   106 106 106 106 106 106 106 106
max_sgprs_with_extras                108 108 108 108 108 108 108 108
lds_bytes_per_cu                     65536 65536 65536 65536 65536 65536 65536 65536
lds_bytes_per_workgroup              65536 65536 65536 65536 65536 65536 65536 65536
lds_granule_bytes                    1024 1024 1024 1024 1024 1024 1024 1024
workgroup_slots_per_cu               16 16 16 16 16 16 16 16
max_workgroup_size                   1024 1024 1024 1024 1024 1024 1024 1024
lds_banks                            32 32 32 32 32 32 32 32
lds_bank_bytes                       4 4 4 4 4 4 4 4
lds_bytes_per_clk                    128? 128? 128? 128? 128? 128? 128? 128?
vgpr_file_bytes_per_cu               262144 262144 262144 393216 393216 393216 393216 393216
scalar_cache_bytes                   16384 16384 16384 16384 16384 16384 16384 16384
instruction_cache_bytes              32768 32768 32768 32768 32768 32768 32768 32768
l1_bytes                             16384 32768 32768 32768 32768 32768 32768 32768
l1_line_bytes                        128? . . . . . . 128
l2_line_bytes                        128 128 128 128 128 128 128 128
vector_fp32_flops_per_clk_per_cu     128? 128? 128 128? 128? 128 128? 128?
vector_fp32_dual_issue_flops_per_clk_per_cu 128? 256? 256 256? 256? 256 256? 256?
vector_fp16_flops_per_clk_per_cu     256? 512? 512 512? 512? 512 512? 512?
vector_fp64_flops_per_clk_per_cu     8? 4? 4 4? 4? 4 4? 4?
matrix_fp16_flops_per_clk_per_cu     . . . 512? . . . 1024?
matrix_fp8_flops_per_clk_per_cu      . . . . . . . 2048?
"""


def facts_of(target: str) -> GpuFacts:
    facts = target_facts(target)
    assert facts is not None
    return facts


def written(figure: Figure | None, unit: float, *, lacks: bool) -> str:
    """Write a figure as the tables above do."""
    if figure is None:
        return "-" if lacks else "."
    return f"{figure.value / unit:.10g}{'?' if figure.unconfirmed else ''}"


def product_named(facts: GpuFacts, name: str) -> Product:
    (found,) = (product for product in facts.products if name in product.names)
    return found


@pytest.mark.parametrize("line", PRODUCTS)
def test_products(line: str) -> None:
    name, _, values = line.partition("|")
    target, product_name = name.split(maxsplit=1)
    facts = facts_of(target)
    product = product_named(facts, product_name.strip())
    for (names, unit), value in zip(PRODUCT_COLUMNS, values.split(), strict=True):
        found = [f for f in (facts.figure(each, (product,)) for each in names) if f is not None]
        lacks = names[0] in facts.lacks
        assert written(found[0] if found else None, unit, lacks=lacks) == value, names


def test_every_product_is_in_the_table() -> None:
    told = {tuple(line.partition("|")[0].split(maxsplit=1)) for line in PRODUCTS}
    named = {
        (target, name)
        for target in known_targets()
        for product in facts_of(target).products
        for name in product.names
    }
    assert {(target, name.strip()) for target, name in told} == named


def rows(table: str, targets: tuple[str, ...]) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for line in table.strip().splitlines():
        name, *values = line.split()
        found += [(t, name, value) for t, value in zip(targets, values, strict=True)]
    return found


ROWS = rows(CDNA_TABLE, CDNA) + rows(RDNA_TABLE, RDNA)


@pytest.mark.parametrize("target", [*CDNA, *RDNA])
def test_figures_of_a_target(target: str) -> None:
    facts = facts_of(target)
    wrong: list[str] = []
    for name, value in ((n, v) for t, n, v in ROWS if t == target):
        found = written(facts.figure(name), 1, lacks=name in facts.lacks)
        if found != value:
            wrong.append(f"{name} is {found}, not {value}")
    assert wrong == []


def test_no_figure_is_outside_the_tables() -> None:
    columns = {name for names, _ in PRODUCT_COLUMNS for name in names}
    for target in known_targets():
        told = {name for t, name, _ in ROWS if t == target} | columns
        assert set(facts_of(target).figures) - told == set(), target


@pytest.mark.parametrize(
    ("product", "tflops"),
    [
        # vector FP64, FP32, matrix FP64, FP32, FP16, BF16, FP8, FP4 in TFLOP/s
        ("gfx908 MI100", "11.5 23.1 . 46.1 184.6 92.3 . ."),
        ("gfx90a MI210", "22.6 22.6 45.3 45.3 181.0 181.0 . ."),
        ("gfx90a MI250X", "23.9 23.9 47.9 47.9 191.5 191.5 . ."),
        ("gfx942 MI300A", "61.3 122.6 122.6 122.6 980.6 980.6 1961.2 ."),
        ("gfx942 MI300X", "81.7 163.4 163.4 163.4 1307.4 1307.4 2614.9 ."),
        ("gfx942 MI325X", "81.7 163.4 163.4 163.4 1307.4 1307.4 2614.9 ."),
        ("gfx950 MI350X", "72.1 144.2 72.1 144.2 2306.9 2306.9 4613.7 9227.5"),
        ("gfx950 MI355X", "78.6 157.3 78.6 157.3 2516.6 2516.6 5033.2 10066.3"),
    ],
)
def test_peaks_of_products(product: str, tflops: str) -> None:
    target, name = product.split()
    gpu = Gpu.from_agent(
        {"agent_id": 0, "target": target, "product": name, "cu_count": None}
        | ({"compute_partition": "SPX"} if target in ("gfx942", "gfx950") else {})
    )
    clock = gpu.hw("clock_hz")
    assert clock is not None
    kinds = "vector_fp64 vector_fp32 matrix_fp64 matrix_fp32 matrix_fp16 matrix_bf16"
    for kind, wanted in zip(
        [*kinds.split(), "matrix_fp8", "matrix_fp4"], tflops.split(), strict=True
    ):
        per_clock = gpu.hw(f"{kind}_flops_per_clk")
        if wanted == ".":
            assert per_clock is None, kind
        else:
            assert per_clock is not None, kind
            assert per_clock * clock / 1e12 == pytest.approx(float(wanted), abs=0.06), kind


@pytest.mark.parametrize(
    ("target", "name", "modes"),
    [
        ("gfx942", "MI300X", {"SPX": 8, "DPX": 4, "QPX": 2, "CPX": 1}),
        ("gfx942", "MI325X", {"SPX": 8, "DPX": 4, "QPX": 2, "CPX": 1}),
        ("gfx950", "MI350X", {"SPX": 8, "DPX": 4, "QPX": 2, "CPX": 1}),
        ("gfx950", "MI355X", {"SPX": 8, "DPX": 4, "QPX": 2, "CPX": 1}),
        ("gfx942", "MI300A", {"SPX": 6, "TPX": 2, "CPX": 1}),
        ("gfx942", "MI308X", {"SPX": 4, "DPX": 2, "CPX": 1}),
    ],
)
def test_partition_modes_decide_the_dies(target: str, name: str, modes: dict[str, int]) -> None:
    for mode, xccs in modes.items():
        row = {"agent_id": 0, "target": target, "product": name, "compute_partition": mode}
        got = Gpu.from_agent(row)
        assert (got.num_xcc, got.source("num_xcc")) == (xccs, "gpus.toml")
        # What the trace says goes first.
        assert Gpu.from_agent(row | {"num_xcc": 3}).num_xcc == 3
        if mode != "SPX":
            assert got.dram_bytes_per_s is None
            assert got.l2_bytes == xccs * 4 * MIB


def test_an_unlisted_partition_mode_says_nothing() -> None:
    row = {"agent_id": 0, "target": "gfx942", "product": "MI300X", "compute_partition": "HPX"}
    assert Gpu.from_agent(row).num_xcc is None


def test_triad_rates_of_the_acceptance_test() -> None:
    facts = facts_of("gfx942")
    for name, rate in (("MI300X", 3885e9), ("MI300A", 3250e9)):
        figure = facts.figure("dram_triad_bytes_per_s", (product_named(facts, name),))
        assert figure is not None
        assert (figure.value, figure.source) == (rate, "ACC")
