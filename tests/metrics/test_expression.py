"""The formula language: what it takes, what it refuses, what its SQL gives."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf.errors import MetricError
from rocperf.metrics.expression import MAX_CHARACTERS, Expression, parse
from rocperf.metrics.units import check_unit, counter, counters, parse_unit


def ask(expression: Expression, **values: float) -> tuple[float | None, str | None]:
    """Return what the SQL gives: the value, and the first problem's sentence."""
    columns = ", ".join(f'{values[c]!r}::DOUBLE AS "{c}"' for c in expression.counters) or "1"
    facts = {f"hw_{name}": values[name] for name in expression.facts}
    cases = " ".join(f"WHEN {p.condition} THEN {p.text}" for p in expression.problems)
    problem = f"CASE {cases} END" if cases else "NULL"
    with duckdb.connect(":memory:") as connection:
        row = connection.execute(
            f"SELECT {expression.sql}, {problem} FROM (SELECT {columns})", facts or None
        ).fetchone()
    assert row is not None
    return row[0], row[1]


def test_names_in_order_of_appearance() -> None:
    found = parse("100 * B / (A * hw.cus + B * hw.xccs)")
    assert found.counters == ("B", "A")
    assert found.facts == ("cus", "xccs")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A + B * 2", 16.0),
        ("(A + B) * 2", 22.0),
        ("A - B - 1", 0.0),
        ("A - (B - 1)", 2.0),
        ("A / B / 2", 0.6),
        ("min(A, B, 7)", 5.0),
        ("max(A, B)", 6.0),
        ("sum(A, B, 1)", 12.0),
        ("1e3 * A / hw.cus", 60.0),
    ],
)
def test_arithmetic(text: str, expected: float) -> None:
    assert ask(parse(text), A=6.0, B=5.0, cus=100.0) == (pytest.approx(expected), None)


def test_a_zero_divisor_is_a_problem_and_no_number() -> None:
    assert ask(parse("A / (B - C)"), A=1.0, B=2.0, C=2.0) == (None, "B - C is 0")


def test_a_negative_difference_is_a_problem_with_its_numbers() -> None:
    value, problem = ask(parse("64 * (R - B - S)"), R=1000.0, B=600.0, S=700.0)
    assert value == -19200  # kept, for the state to be judged beside it
    assert problem == "negative difference (R - B - S = 1000 - 600 - 700)"


def test_the_first_problem_is_told() -> None:
    assert ask(parse("(A - B) / C"), A=1.0, B=2.0, C=0.0)[1] == (
        "negative difference (A - B = 1 - 2)"
    )


def test_sum_over_a_family_adds_every_counter_of_that_name() -> None:
    found = parse("2 * sum(X_RD_)", known=["X_RD_32", "X_WR_32", "X_RD_64"])
    assert found.counters == ("X_RD_32", "X_RD_64")
    assert ask(found, X_RD_32=1.0, X_RD_64=10.0)[0] == 22.0
    with pytest.raises(MetricError, match="no counter begins with 'Y_'"):
        parse("sum(Y_)", known=["X_RD_32"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A +",
        "A; DROP TABLE kernels",
        "A) UNION SELECT (1",
        "'text'",
        'A + "B"',
        "A -- comment",
        "A ** 2",
        "A % B",
        "A // B",
        "-A",
        "A < B",
        "A if B else C",
        "A and B",
        "[A]",
        "A[0]",
        "lambda: A",
        "f(A)",
        "min(A)",
        "min(*A)",
        "min(A, b=1)",
        "sum()",
        "sum(*A)",
        "__import__('os')",
        "hw",
        "hw.no_such_fact",
        "hw.cus.real",
        "os.path",
        "sq_waves",
        "_A",
        "Ä",
        "True",
        "None",
        "1j",
        "1e999",
        "1or 2",
        "A := 1",
        "yield A",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(MetricError):
        parse(text)


def test_size_is_bounded() -> None:
    with pytest.raises(MetricError, match="characters"):
        parse("A+" * MAX_CHARACTERS + "A")
    with pytest.raises(MetricError, match="parts"):
        parse("+".join("A" * 500))


@given(st.text(max_size=60))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        found = parse(text)
    except MetricError:
        return
    # What it lets through is made of counters, facts and numbers, so quotes close where they open.
    assert "'" not in found.sql.replace('"', "")
    assert ";" not in found.sql


_LEAVES = st.sampled_from(["A", "B", "C", "2", "0.5", "hw.cus"])
_FORMULAS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)  # each asks a database
@given(_FORMULAS, st.tuples(*[st.integers(0, 50)] * 4))
def test_sql_agrees_with_python(text: str, numbers: tuple[int, ...]) -> None:
    a, b, c, cus = map(float, numbers)

    class Hw:
        pass

    hw = Hw()
    hw.cus = cus  # type: ignore[attr-defined]
    names = {"A": a, "B": b, "C": c, "hw": hw, "min": min, "max": max}
    found = parse(text)
    value, problem = ask(found, A=a, B=b, C=c, cus=cus)
    try:
        expected = eval(text, {"__builtins__": {}}, names)
    except ZeroDivisionError:
        assert problem is not None
        return
    if problem is None:
        assert value == pytest.approx(expected)


def test_units_multiply_and_cancel() -> None:
    assert parse_unit("waves*quad-cycles") == {"waves": 1, "quad-cycles": 1}
    assert parse_unit("B/requests/B") == {"requests": -1}
    assert parse_unit("%") == parse_unit("") == parse_unit("1") == {}


@pytest.mark.parametrize(
    ("text", "numbers", "unit"),
    [
        ("SQ_WAVES", "", "waves"),
        ("SQ_INSTS_VALU / SQ_WAVES", "", "instructions/waves"),
        ("100 * SQ_LDS_BANK_CONFLICT / SQ_LDS_IDX_ACTIVE", "", "%"),
        ("256 * GL2C_EA_RDREQ_sum", "B/requests", "B"),
        ("SQ_WAVES * hw.clock_hz", "", "waves*Hz"),
    ],
)
def test_formulas_that_give_their_unit(text: str, numbers: str, unit: str) -> None:
    check_unit(parse(text), "gfx942", numbers, unit)


@pytest.mark.parametrize(
    ("text", "numbers", "unit", "message"),
    [
        ("SQ_WAVES + TCC_BUBBLE_sum", "", "waves", "puts waves together with requests"),
        ("SQ_WAVES + 1", "", "waves", "together"),
        ("min(SQ_WAVES, GRBM_GUI_ACTIVE)", "", "waves", "together"),
        ("256 * GL2C_EA_RDREQ_sum", "", "B", "gives requests, not B"),
        ("100 * SQ_ACTIVE_INST_VALU / GRBM_GUI_ACTIVE", "", "%", "not a plain number"),
        ("SQ_NO_SUCH_COUNTER", "", "waves", "no counter 'SQ_NO_SUCH_COUNTER'"),
    ],
)
def test_formulas_with_another_unit_are_refused(
    text: str, numbers: str, unit: str, message: str
) -> None:
    with pytest.raises(MetricError, match=message):
        check_unit(parse(text), "gfx942", numbers, unit)


def test_a_unit_can_differ_between_targets() -> None:
    check_unit(parse("SQ_WAVE_CYCLES"), "gfx1201", "", "waves*cycles")
    with pytest.raises(MetricError, match="quad-cycles"):
        check_unit(parse("SQ_WAVE_CYCLES"), "gfx942", "", "waves*cycles")


def test_every_counter_says_what_it_counts() -> None:
    for each in counters().values():
        assert each.doc.endswith(".")
        assert parse_unit(each.unit)
    with pytest.raises(MetricError, match="no counter"):
        counter("SQ_WAVES; DROP TABLE meta")
