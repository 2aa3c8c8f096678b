"""``rocperf occupancy``: worked answers, what-if steps, refusals.

Expected numbers are worked by hand from the register, LDS and wave-slot rules of the targets.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rocperf.cli import main

Capture = pytest.CaptureFixture[str]


def words(text: str) -> list[str]:
    return ["occupancy", *text.split()]


def asked(capsys: Capture, text: str) -> dict[str, Any]:
    assert main(words(f"{text} --format json")) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def steps(document: dict[str, Any]) -> list[tuple[float, dict[str, int]]]:
    return [
        (each["waves_per_simd"], {c["resource"]: c["at_most"] for c in each["changes"]})
        for each in document["next_steps"]
    ]


@pytest.mark.parametrize(
    ("text", "waves", "compiler", "groups", "share", "limiters"),
    [
        # 512 registers over 72 give 7 waves a SIMD; LLVM says the same.
        (
            "--gpu gfx942 --vgpr 72 --agpr 0 --sgpr 48 --lds 0 --workgroup 256",
            7,
            7,
            7,
            7 / 8,
            "vgpr",
        ),
        # 92 SGPRs: 96 and 16 for traps leave 7 of 8 waves; LLVM 22 knows no reserve: 8.
        ("--gpu gfx942 --vgpr 32 --sgpr 92 --workgroup 64", 7, 8, 28, 0.875, "sgpr"),
        # A workgroup of 16 waves needs 4 a SIMD; 5 would fit one by one, which LLVM prints.
        ("--gpu gfx942 --vgpr 96 --sgpr 48 --workgroup 1024", 4, 5, 1, 0.5, "vgpr"),
        # 100 and 30 registers: 130, in blocks of 8 136: 3 waves.
        ("--gpu gfx942 --vgpr 100 --agpr 30 --sgpr 48 --workgroup 256", 3, 3, 3, 0.375, "vgpr"),
        # Two register files: the larger counts.
        ("--gpu gfx908 --vgpr 64 --agpr 128 --sgpr 48 --workgroup 256", 2, 2, 2, 0.2, "vgpr"),
        # 16385 B take 33 blocks of 512: 3 workgroups of 2 waves on 4 SIMDs.
        (
            "--gpu gfx942 --vgpr 64 --sgpr 48 --lds 16385 --workgroup 128",
            1.5,
            2,
            3,
            0.1875,
            "lds",
        ),
        # Blocks of 1280 B: 13654 B take 11 of them and 11 workgroups fit 160 KiB.
        (
            "--gpu gfx950 --vgpr 32 --sgpr 48 --lds 13654 --workgroup 64",
            2.75,
            3,
            11,
            11 / 32,
            "lds",
        ),
        # RDNA: a WGP of 128 KiB and 64 wave slots; in CU mode half of both.
        ("--gpu gfx1100 --vgpr 64 --lds 32768 --workgroup 256", 8, 8, 4, 0.5, "lds"),
        ("--gpu gfx1100 --vgpr 64 --lds 32768 --workgroup 256 --cu-mode", 8, 8, 2, 0.5, "lds"),
        ("--gpu gfx1030 --vgpr 33 --wave 64 --workgroup 64", 12, 12, 48, 0.75, "vgpr"),
    ],
)
def test_answers(
    capsys: Capture,
    text: str,
    waves: float,
    compiler: int,
    groups: int,
    share: float,
    limiters: str,
) -> None:
    got = asked(capsys, text)
    assert got["waves_per_simd"] == waves
    assert got["compiler_waves_per_simd"] == compiler
    assert got["workgroups_per_cu"] == groups
    assert got["occupancy"] == share
    assert got["limiters"] == limiters.split()


def test_next_steps_of_registers(capsys: Capture) -> None:
    # Break points of a file of 512 in blocks of 8: 3 waves to 168, 4 to 128, 5 to 96, ...
    got = asked(capsys, "--gpu gfx942 --vgpr 250 --sgpr 32 --workgroup 256")
    assert got["waves_per_simd"] == 2
    assert steps(got) == [
        (waves, {"vgpr": most})
        for waves, most in ((3, 168), (4, 128), (5, 96), (6, 80), (7, 72), (8, 64))
    ]


def test_next_steps_name_registers_and_lds(capsys: Capture) -> None:
    # 264 registers and 40 KiB hold one workgroup; two need 256 registers and 32 KiB each.
    got = asked(capsys, "--gpu gfx942 --vgpr 264 --sgpr 40 --lds 40960 --workgroup 256")
    assert steps(got)[0] == (2, {"vgpr": 256, "lds": 32768})
    assert steps(got)[-1] == (8, {"vgpr": 64, "lds": 8192})
    # The compiler's filling is no limiter, and that is said.
    assert got["limiters"] == ["lds"]
    assert any("does not say what the kernel uses" in note for note in got["notes"])


def test_what_costs_nothing(capsys: Capture) -> None:
    # Four workgroups of 32768 B fill 128 KiB; 8 waves a SIMD leave 1536 / 8 = 192 registers.
    got = asked(capsys, "--gpu gfx1100 --vgpr 97 --lds 30000 --workgroup 256")
    assert got["headroom"] == {"vgpr": 192, "lds": 32768}
    # 7 waves: 72 registers; 800 / 7 - 16 = 98, in blocks of 16 96 SGPRs; 65536 / 7 -> 9216.
    got = asked(capsys, "--gpu gfx942 --vgpr 70 --sgpr 48 --workgroup 256")
    assert got["headroom"] == {"vgpr": 72, "sgpr": 96, "lds": 9216}


def test_nothing_more_to_reach(capsys: Capture) -> None:
    got = asked(capsys, "--gpu gfx90a --vgpr 64 --sgpr 32 --workgroup 256")
    assert (got["occupancy"], got["limiters"], got["next_steps"]) == (1.0, ["wave slots"], [])


def test_what_cannot_launch_says_how_it_could(capsys: Capture) -> None:
    # 16 waves need 4 a SIMD, 512 / 4 = 128 registers each; 200 let 2 in.
    text = "--gpu gfx942 --vgpr 200 --sgpr 32 --workgroup 1024"
    got = asked(capsys, text)
    assert (got["workgroups_per_cu"], got["occupancy"]) == (0, 0.0)
    assert got["limiters"] == ["cannot launch"]
    assert steps(got) == [(4, {"vgpr": 128}), (8, {"vgpr": 64})]
    assert main(words(text)) == 0
    assert "not one workgroup fits, for want of vector" in capsys.readouterr().out


def test_inputs_are_echoed(capsys: Capture) -> None:
    got = asked(capsys, "--gpu MI300X --vgpr 72 --workgroup 256")
    assert (got["gpu"], got["block"], got["wave_size"]) == ("gfx942", "CU", 64)
    assert (got["vgpr"], got["agpr"], got["sgpr"], got["lds"]) == (72, 0, None, 0)
    assert any("scalar registers may limit more" in note for note in got["notes"])
    got = asked(capsys, "--gpu gfx1201 --vgpr 72 --workgroup 256 --sgpr 128")
    assert (got["gpu"], got["block"], got["wave_size"]) == ("gfx1201", "WGP", 32)
    assert any("no effect" in note for note in got["notes"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("--gpu gfx942 --vgpr 513 --workgroup 64", "513 is too many vector registers"),
        ("--gpu gfx942 --vgpr 300 --agpr 8 --workgroup 64", "300 is too many ordinary"),
        ("--gpu gfx942 --vgpr 8 --agpr 257 --workgroup 64", "257 is too many accumulation"),
        ("--gpu gfx908 --vgpr 257 --workgroup 64", "at most 256"),
        ("--gpu gfx1100 --vgpr 257 --workgroup 64", "at most 256"),
        ("--gpu gfx1100 --vgpr 8 --agpr 4 --workgroup 64", "no accumulation registers"),
        ("--gpu gfx942 --vgpr 8 --sgpr 113 --workgroup 64", "113 is too many scalar"),
        ("--gpu gfx942 --vgpr -1 --workgroup 64", "--vgpr cannot be negative"),
        ("--gpu gfx942 --vgpr 8 --lds -5 --workgroup 64", "--lds cannot be negative"),
        ("--gpu gfx942 --vgpr 8 --workgroup 0", "at least one work-item"),
        ("--gpu gfx942 --vgpr 8 --workgroup 1025", "1025 is too many work-items"),
        ("--gpu gfx942 --vgpr 8 --workgroup 64 --lds 65537", "65537 is too many LDS bytes"),
        ("--gpu gfx950 --vgpr 8 --workgroup 64 --lds 163841", "at most 163840"),
        ("--gpu gfx1100 --vgpr 8 --workgroup 64 --lds 65537", "at most 65536"),
        ("--gpu gfx942 --vgpr 8 --workgroup 64 --wave 32", "waves of 64 lanes, not 32"),
        ("--gpu gfx1100 --vgpr 8 --workgroup 64 --wave 48", "waves of 32 or 64 lanes, not 48"),
        ("--gpu gfx942 --vgpr 8 --workgroup 64 --wave 0", "not 0"),
        ("--gpu gfx942 --vgpr 8 --workgroup 64 --cu-mode", "no CU mode"),
        ("--gpu gfx943 --vgpr 8 --workgroup 64", "did you mean gfx942?"),
        ("--gpu H100 --vgpr 8 --workgroup 64", "no GPU 'H100'"),
    ],
)
def test_refusals(capsys: Capture, text: str, says: str) -> None:
    assert main(words(text)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert "hint:" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "text", ["--gpu gfx942 --vgpr 8", "--gpu gfx942 --vgpr many --workgroup 64", "--vgpr 8"]
)
def test_incomplete_commands_end_with_two(capsys: Capture, text: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words(text))
    assert stopped.value.code == 2
    assert "usage: rocperf occupancy" in capsys.readouterr().err


def test_text_fits_eighty_columns_and_says_what_numbers_mean(capsys: Capture) -> None:
    for text in (
        "--gpu gfx942 --vgpr 72 --agpr 0 --sgpr 48 --lds 0 --workgroup 256",
        "--gpu gfx1151 --vgpr 256 --lds 65536 --workgroup 1024",
        "--gpu gfx942 --vgpr 512 --sgpr 112 --lds 65536 --workgroup 1024",
        "--gpu gfx950 --vgpr 40 --agpr 212 --sgpr 100 --lds 160000 --workgroup 64",
        "--gpu gfx908 --vgpr 256 --agpr 256 --sgpr 102 --lds 1 --workgroup 192",
    ):
        assert main(words(text)) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        assert all(line == line.rstrip() for line in lines)
    assert main(words("--gpu gfx942 --vgpr 72 --sgpr 48 --workgroup 256")) == 0
    out = capsys.readouterr().out
    assert "Waves per SIMD         7 of 8  resident together" in out
    assert "Occupancy              87.5 %  28 of 32 waves of a CU" in out
    assert "Limited by            vector registers" in out
    assert "64 vector registers" in out


def test_it_needs_no_third_party() -> None:
    code = (
        "import sys; from rocperf.cli import main;"
        "main('occupancy --gpu gfx942 --vgpr 72 --workgroup 256'.split());"
        "print([m for m in ('duckdb', 'polars', 'pyarrow', 'textual', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_page_shows_what_it_prints(capsys: Capture) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "calculate-occupancy.md"
    text = page.read_text(encoding="utf-8")
    command = text.split("## Ask\n")[1].split("```sh\nrocperf ")[1].split("\n")[0]
    shown = text.split("```text\n")[1].split("```")[0]
    assert main(command.split()) == 0
    assert capsys.readouterr().out == shown
