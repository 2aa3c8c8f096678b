"""``rocperf explain``: everything that has a name in rocperf can be explained offline."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rocperf.cli import main
from rocperf.errors import UsageError
from rocperf.hardware import HW_NAMES, known_targets
from rocperf.hardware.terms import terms
from rocperf.metrics.catalogue import metrics
from rocperf.metrics.units import counters
from rocperf.report.explain import explain

Capture = pytest.CaptureFixture[str]


def told(capsys: Capture, *words: str) -> str:
    assert main(["explain", *words]) == 0
    return capsys.readouterr().out


def joined(text: str) -> str:
    """Undo the wrapping of lines."""
    return " ".join(text.split())


def test_a_metric(capsys: Capture) -> None:
    text = told(capsys, "lds-conflict-share")
    assert text.startswith("lds-conflict-share (metric)\n")
    assert "100 * SQ_LDS_BANK_CONFLICT / SQ_LDS_IDX_ACTIVE" in text
    assert "100 * SQC_LDS_BANK_CONFLICT / SQC_LDS_IDX_ACTIVE" in text
    assert "SQ_LDS_IDX_ACTIVE [cycles]: Cycles in which the LDS worked" in joined(text)
    assert "Range: 0 to 100 %" in text
    assert "Low is better." in joined(text)
    assert "Elsewhere: " in text
    assert "Source: " in text


def test_a_metric_on_one_gpu(capsys: Capture) -> None:
    text = told(capsys, "lds-conflict-share", "--gpu", "MI300X")
    assert "SQ_LDS_BANK_CONFLICT" in text
    assert "SQC_LDS_BANK_CONFLICT" not in text
    text = told(capsys, "lds-conflict-share", "--gpu", "gfx906")
    assert "It cannot be measured on gfx906." in text


def test_a_counter(capsys: Capture) -> None:
    text = told(capsys, "SQ_LDS_BANK_CONFLICT")
    assert text.startswith("SQ_LDS_BANK_CONFLICT (counter)\n")
    assert "Unit: cycles" in text
    assert "lds-conflict-share on gfx908, gfx90a, gfx942" in joined(text)
    assert told(capsys, "sq_lds_bank_conflict") == text


def test_a_counter_that_counts_differently_by_gpu(capsys: Capture) -> None:
    text = told(capsys, "SQ_WAVE_CYCLES")
    assert "waves*quad-cycles: elsewhere" in text
    assert "waves*cycles: " in text
    assert "Unit: waves*quad-cycles" in told(capsys, "SQ_WAVE_CYCLES", "--gpu", "gfx942")
    assert "Unit: waves*cycles" in told(capsys, "SQ_WAVE_CYCLES", "--gpu", "gfx1201")


@pytest.mark.parametrize("name", ["TCP_TOTAL_ACCESSES", "TCP_TOTAL_ACCESSES[3]"])
def test_counters_of_one_instance_are_found_by_their_sum(capsys: Capture, name: str) -> None:
    assert told(capsys, name).startswith("TCP_TOTAL_ACCESSES_sum (counter)\n")


def test_a_name_of_several_things_is_explained_as_each(capsys: Capture) -> None:
    text = told(capsys, "occupancy")
    assert text.startswith("occupancy (analysis)\n")
    assert "\noccupancy (term)\n" in text
    assert "-O occupancy.low=0.5" in joined(text)
    assert "rocperf collect --for occupancy -- ./app" in joined(text)
    assert "10: gfx906, gfx908" in text
    assert "8: gfx90a, gfx942, gfx950" in text


def test_a_rule_of_findings_is_explained_by_its_analysis(capsys: Capture) -> None:
    assert told(capsys, "occupancy/vgpr").startswith("occupancy (analysis)\n")


def test_terms_whatever_the_case(capsys: Capture) -> None:
    text = told(capsys, "VGPR")
    assert text.startswith("vgpr (term)\n")
    # 512 registers of 64 lanes in blocks of 8 on gfx942, of 12 on gfx1100.
    assert "512: gfx90a, gfx942, gfx950" in joined(text)
    assert "12: gfx1100, gfx1101, gfx1151, gfx1200, gfx1201" in joined(text)
    assert "Source: LLVM" in text
    assert told(capsys, "xcc").startswith("xcc (term)\n")
    assert told(capsys, "shared", "memory").startswith("lds (term)\n")
    one = told(capsys, "vgpr", "--gpu", "gfx942")
    assert "gfx1100" not in one


def test_derived_counters_whose_names_mislead(capsys: Capture) -> None:
    text = joined(told(capsys, "LdsBankConflict"))
    assert text.startswith("LDSBankConflict (term)")
    assert "on RDNA over the cycles in which the LDS was active" in text
    assert "KiB" in told(capsys, "FETCH_SIZE")


def test_a_gpu_and_a_product(capsys: Capture) -> None:
    text = joined(told(capsys, "gfx942"))
    assert "vgprs_per_simd_wave64 512 [BI, TD]" in text
    assert "MI300A" in text
    assert "BI: LLVM" in text
    text = joined(told(capsys, "mi300x"))
    assert "dram_bytes_per_s 5 324 800 000 000 [D300]" in text
    assert "link to the host: PCIe Gen5 x16, 63.0 GB/s each way" in text
    assert "MI300A" not in text
    assert "matrix_fp6_flops_per_clk_per_cu none [TD]" in text


def test_a_figure_that_formulas_use(capsys: Capture) -> None:
    text = joined(told(capsys, "hw.l2_channels"))
    # 16 channels a die on eight, six and four dies.
    assert "128: MI300X, MI325X, MI350X, MI355X" in text
    assert "96: MI300A" in text
    assert "32: gfx908, gfx90a" in text
    assert "1 280: gfx950" in told(capsys, "lds_granule_bytes")


def test_everything_listed_can_be_explained_in_eighty_columns(capsys: Capture) -> None:
    names = [*metrics(), *counters(), *known_targets()]
    names += [term.written for term in terms().values()]
    names += [f"hw.{name}" for name in HW_NAMES]
    listed = joined(told(capsys))
    for name in names:
        assert name in listed
        text = explain(name)
        assert text.endswith("\n")
        if not name.startswith("gfx"):
            long = [line for line in text.splitlines() if len(line) > 80 and " " in line.strip()]
            assert long == [], name


def test_what_terms_point_to_can_be_explained() -> None:
    for term in terms().values():
        for name in term.see:
            assert explain(name), (term.name, name)


def test_unknown_names_get_the_nearest(capsys: Capture) -> None:
    assert main(["explain", "lds-conflict-shar"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "nothing that is called 'lds-conflict-shar'" in err
    assert "lds-conflict-share" in err
    assert main(["explain", "SQ_LDS_BANK_CONFLICTS"]) == 2
    assert "SQ_LDS_BANK_CONFLICT" in capsys.readouterr().err
    assert main(["explain", "zzzzzz"]) == 2
    assert "rocperf explain lists what can" in capsys.readouterr().err
    assert main(["explain", "lds", "--gpu", "gfx9000"]) == 2
    assert "no GPU 'gfx9000'" in capsys.readouterr().err


def test_names_cannot_act_on_the_terminal(capsys: Capture) -> None:
    assert main(["explain", "\x1b[2J{0}%s"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_without_a_name_it_lists_all(capsys: Capture) -> None:
    text = told(capsys)
    for kind in ("Analyses", "Metrics", "Counters", "Terms", "GPUs", "Figures of a GPU"):
        assert f"\n{kind}\n" in text
    assert "lds-bank-conflicts" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", ["lds-conflict-share", "SQ_WAVES", "occupancy", "xcc", "gfx942"])
def test_it_needs_no_third_party(name: str) -> None:
    code = (
        f"import sys; from rocperf.cli import main; main(['explain', {name!r}]);"
        "print([m for m in ('duckdb', 'polars', 'pyarrow', 'textual', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_analyses_that_no_plugin_provides_are_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import rocperf.report.explain.lookup as lookup

    monkeypatch.setattr(lookup, "_analyses", dict)
    with pytest.raises(UsageError, match="memcpy-bandwidth"):
        explain("memcpy-bandwidth")


def test_completion_knows_the_verbs(capsys: Capture) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert "occupancy" in script
    assert "explain" in script
    assert "--cu-mode" in script
