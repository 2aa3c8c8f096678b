"""Links: peak and achievable rates per direction."""

from __future__ import annotations

import pytest

from rocperf.hardware import host_link, pcie_link, peer_link, source_text


def test_pcie_by_product() -> None:
    gen4, gen5 = host_link("gfx90a", "AMD Instinct MI210"), host_link("gfx942", "MI300X")
    assert gen4 is not None
    assert gen5 is not None
    # 16 and 32 GT/s on 16 lanes with 130 bits for 128
    assert gen4.peak_bytes_per_s == pytest.approx(16e9 * 16 * 128 / 130 / 8)
    assert gen5.peak_bytes_per_s == pytest.approx(32e9 * 16 * 128 / 130 / 8)
    assert (gen4.achievable_bytes_per_s, gen5.achievable_bytes_per_s) == (30e9, 55.7e9)
    assert source_text(gen5.source)


def test_no_host_link_is_guessed() -> None:
    assert host_link("gfx942") is None  # MI300A has none, MI300X has
    assert host_link("gfx942", "AMD Instinct MI300A") is None
    assert host_link("gfx942", "AMD Instinct MI308X") is None
    assert host_link("gfx1201", "AMD Radeon RX 9070 XT") is None
    assert host_link("gfx1300") is None
    assert peer_link("gfx1300") is None


def test_xgmi_of_mi300x() -> None:
    link = peer_link("gfx942", "AMD Instinct MI300X")
    assert link is not None
    assert (link.kind, link.peak_bytes_per_s, link.achievable_bytes_per_s) == ("xgmi", 64e9, 45e9)
    assert not link.unconfirmed


def test_xgmi_of_mi250_needs_the_number_of_links() -> None:
    product = "AMD Instinct MI250X"
    assert peer_link("gfx90a", product) is None
    rates = []
    for links in (1, 2, 4):
        link = peer_link("gfx90a", product, links)
        assert link is not None
        rates.append((link.peak_bytes_per_s, link.achievable_bytes_per_s))
    assert rates == [(50e9, 36e9), (100e9, None), (200e9, 142e9)]
    with pytest.raises(ValueError, match="at least one link"):
        peer_link("gfx90a", product, 0)


def test_unconfirmed_links_say_so() -> None:
    mi350, mi300a = peer_link("gfx950", "MI350X"), peer_link("gfx942", "MI300A")
    assert mi350 is not None
    assert mi300a is not None
    assert mi350.unconfirmed
    assert mi350.achievable_bytes_per_s is None
    assert (mi300a.peak_bytes_per_s, mi300a.achievable_bytes_per_s) == (128e9, 80e9)
    assert mi300a.unconfirmed


def test_mi100_link() -> None:
    link = peer_link("gfx908", "AMD Instinct MI100")
    assert link is not None
    assert link.peak_bytes_per_s == 46e9  # 23 GT/s x 16 bit


def test_reported_pcie_links() -> None:
    narrow = pcie_link(16, 8)
    assert narrow is not None
    assert narrow.name == "PCIe Gen4 x8"
    assert narrow.peak_bytes_per_s == pytest.approx(15.75e9, rel=1e-3)
    assert narrow.achievable_bytes_per_s is None
    assert pcie_link(32, 16) == host_link("gfx950", "MI350X")
    gen3 = pcie_link(8, 16)
    assert gen3 is not None
    # 8 GT/s on 16 lanes with 130 bits for 128: 15.75 GB/s; no primary source was found.
    assert gen3.peak_bytes_per_s == pytest.approx(8e9 * 16 * 128 / 130 / 8)
    assert (gen3.unconfirmed, gen3.achievable_bytes_per_s) == (True, None)
    assert pcie_link(5, 16) is None  # Gen2 codes 8 bits in 10
    assert pcie_link(64, 16) is None
    assert pcie_link(16, 32) is None
    assert pcie_link(16, 0) is None


@pytest.mark.parametrize(
    ("target", "product", "links", "peak", "achievable", "floor", "both_ways"),
    [
        # GB/s; the acceptance test's floors and the rates that documentation gives.
        ("gfx908", "MI100", None, 46, None, None, None),
        ("gfx90a", "MI210", 1, 50, None, None, None),
        ("gfx90a", "MI250", 1, 50, 36, None, None),
        ("gfx90a", "MI250", 4, 200, 142, None, None),
        ("gfx942", "MI300A", None, 128, 80, 80, 155),
        ("gfx942", "MI300X", None, 64, 45, 33.9, 43.9),
        ("gfx942", "MI325X", None, 64, 45, 33.9, 43.9),
        ("gfx942", "MI300X", 7, 448, 315, None, None),
        ("gfx950", "MI350X", None, 76.8, None, None, None),
        ("gfx950", "MI355X", 7, 537.6, None, None, None),
    ],
)
def test_links_between_gpus(
    target: str,
    product: str,
    links: int | None,
    peak: float,
    achievable: float | None,
    floor: float | None,
    both_ways: float | None,
) -> None:
    link = peer_link(target, product, links)
    assert link is not None
    assert link.peak_bytes_per_s / 1e9 == pytest.approx(peak)
    found = (
        link.achievable_bytes_per_s,
        link.floor_bytes_per_s,
        link.floor_bidirectional_bytes_per_s,
    )
    wanted = (achievable, floor, both_ways)
    assert [None if x is None else x / 1e9 for x in found] == [
        None if x is None else pytest.approx(x) for x in wanted
    ]


def test_dma_copies_of_mi250_gain_nothing_from_more_links() -> None:
    one, four = (peer_link("gfx90a", "MI250X", n) for n in (1, 4))
    assert one is not None
    assert four is not None
    assert one.sdma_bytes_per_s == four.sdma_bytes_per_s == 50e9
    other = peer_link("gfx942", "MI300X")
    assert other is not None
    assert other.sdma_bytes_per_s is None


@pytest.mark.parametrize(
    ("target", "product", "name", "floor"),
    [
        ("gfx908", "MI100", "PCIe Gen4 x16", 30),
        ("gfx90a", "MI210", "PCIe Gen4 x16", 30),
        ("gfx90a", "MI250X", "PCIe Gen4 x16", 30),
        ("gfx942", "MI300X", "PCIe Gen5 x16", None),
        ("gfx942", "MI325X", "PCIe Gen5 x16", None),
        ("gfx950", "MI350X", "PCIe Gen5 x16", None),
        ("gfx950", "MI355X", "PCIe Gen5 x16", None),
    ],
)
def test_links_to_the_host(target: str, product: str, name: str, floor: float | None) -> None:
    link = host_link(target, product)
    assert link is not None
    assert (link.name, link.kind, link.unconfirmed) == (name, "pcie", False)
    assert link.floor_bytes_per_s == (None if floor is None else floor * 1e9)
    assert link.floor_bidirectional_bytes_per_s == (None if floor is None else 55e9)
    assert link.achievable_bytes_per_s is not None
    assert link.achievable_bytes_per_s < link.peak_bytes_per_s
