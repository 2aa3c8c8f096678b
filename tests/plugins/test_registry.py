"""Loading plugins, their rows, and options from text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rocperf
from rocperf import ConfigError, PluginError, Requires, option
from rocperf.errors import UsageError
from rocperf.model import Finding
from rocperf.plugin import Analysis, Plugins, configure, describe_options, hookimpl, registry
from rocperf.plugin.foreign import describe, standin
from rocperf.plugin.loading import analyses_of
from rocperf.profile import Profile

FILE = """
import rocperf
class Mine(rocperf.Analysis[rocperf.Options]):
    id, title = "{id}", "Mine"
    requires = rocperf.Requires({requires})
    def run(self, profile): return ()
@rocperf.hookimpl
def rocperf_analyses(): return {returned}
"""


@dataclass(frozen=True)
class SomeOptions(rocperf.Options):
    """Options of `Some`."""

    least: float = option(0.5, help="At least; ours.", unit="%", minimum=0, maximum=1)
    count: int = option(3, help="How many.", minimum=1)
    loud: bool = option(False, help="Whether.")
    word: str = option("a", help="Which.")


class Some(Analysis[SomeOptions]):
    """An analysis of nothing."""

    id = "some"
    title = "Some"
    requires = Requires(("dispatches",), ("copies.bytes",), ("waves",), ((("coalescing",),),))

    def run(self, profile: Profile) -> Iterable[Finding]:
        """Find nothing."""
        return ()


def file(folder: Path, name: str, *, requires: str = "", returned: str = "[Mine]") -> Path:
    path = folder / f"{name}.py"
    path.write_text(FILE.format(id=name, requires=requires, returned=returned), encoding="utf-8")
    return path


def test_the_shipped_analyses_are_there() -> None:
    plugins = Plugins.installed()
    shipped = {row.name: row for row in plugins.rows() if row.origin == "rocperf"}
    assert set(shipped) >= {"occupancy", "coalescing", "lds-bank-conflicts", "memcpy-bandwidth"}
    assert all(row.error is None for row in shipped.values())
    assert not set(shipped) & set(plugins.external())


def test_two_plugins_with_one_id(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    plugins = Plugins()
    plugins.add_file(file(first, "dup"))
    plugins.add_file(file(second, "dup"))
    one, two = plugins.rows()
    assert (one.analyses, one.error) == (("dup",), None)
    assert (two.analyses, two.error) == ((), "another plugin provides 'dup' already")
    assert list(plugins.analyses()) == ["dup"]


def test_the_same_file_twice_counts_once(tmp_path: Path) -> None:
    path = file(tmp_path, "mine")
    plugins = Plugins()
    plugins.add_file(path)
    plugins.add_file(path)
    assert len(plugins.rows()) == 1


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no plugin file .*gone\.py"):
        Plugins().add_file(tmp_path / "gone.py")


@pytest.mark.parametrize(
    ("name", "requires", "returned", "reason"),
    [
        ("x", "tables=('nonsense',)", "[Mine]", "the table 'nonsense'"),
        ("x", "columns=('copies.nonsense',)", "[Mine]", "copies has no such column"),
        ("x", "metrics=('nonsense',)", "[Mine]", "the metric 'nonsense'"),
        ("x", "", "[]", "it provides no analysis"),
        ("x", "", "[Mine, Mine]", "it provides 'x' twice"),
        ("x", "", "[Mine, 5]", "5 is not a subclass of rocperf.Analysis"),
        ("x", "", "None", "it provides no analysis"),
        ("x", "", "5", "'int' object is not iterable"),
        ("x", "", "1 / 0", "ZeroDivisionError"),
        ("Not_Kebab", "", "[Mine]", "must be kebab-case"),
        ("x", "surprise=1", "[Mine]", "surprise"),
    ],
)
def test_a_wrong_plugin_is_a_row_with_the_reason(
    tmp_path: Path, name: str, requires: str, returned: str, reason: str
) -> None:
    plugins = Plugins()
    plugins.add_file(file(tmp_path, name, requires=requires, returned=returned))
    [row] = plugins.rows()
    assert row.analyses == ()
    assert row.error is not None
    assert reason in row.error
    assert plugins.analyses() == {}


def test_options_are_found_through_inheritance() -> None:
    class Further(Some):
        """A variant."""

        id = "further"

    assert Further.options_type is SomeOptions


def test_a_file_that_is_no_python(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello", encoding="utf-8")
    plugins = Plugins()
    plugins.add_file(path)
    [row] = plugins.rows()
    assert row.error is not None
    assert "not a Python file" in row.error


def test_a_misspelled_hook_is_said() -> None:
    plugin = SimpleNamespace(rocperf_analysis=hookimpl(lambda: [Some]))
    with pytest.raises(PluginError, match="rocperf_analysis"):
        analyses_of(plugin)


def entry(name: str, value: str, dist: str) -> EntryPoint:
    made = EntryPoint(name, value, "rocperf")
    vars(made)["dist"] = SimpleNamespace(name=dist, version="1.2")
    return made


def test_no_foreign_plugin_takes_the_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed module comes before ours in the alphabet and claims an id of ours."""
    file(tmp_path, "coalescing").rename(tmp_path / "aaa_claims.py")
    file(tmp_path, "of-theirs").rename(tmp_path / "bbb_theirs.py")
    monkeypatch.syspath_prepend(tmp_path)
    entries = [
        entry("aaa", "aaa_claims", "theirs"),
        entry("bbb", "bbb_theirs", "theirs"),
        entry("ccc", "does_not_exist_xyz", "broken"),
        entry("coalescing", "rocperf_analyses.coalescing", "rocperf"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)
    plugins = Plugins.installed()
    rows = {row.name: row for row in plugins.rows()}
    assert rows["coalescing"].error is None
    assert rows["aaa"].error == "another plugin provides 'coalescing' already"
    assert (rows["bbb"].analyses, rows["bbb"].version, rows["bbb"].origin) == (
        ("of-theirs",),
        "1.2",
        "theirs",
    )
    assert "does_not_exist_xyz" in (rows["ccc"].error or "")
    assert plugins.external() == {"of-theirs": ("entry", "bbb_theirs")}


def test_a_broken_plugin_of_ours_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [entry("gone", "rocperf_analyses.gone_xyz", "rocperf")]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)
    [row] = Plugins.installed().rows()
    assert row.error is not None
    assert row.error.startswith("ModuleNotFoundError")


def test_what_the_worker_describes_is_what_the_class_says() -> None:
    kind = standin(describe(Some))
    assert (kind.id, kind.title, kind.requires) == (Some.id, Some.title, Some.requires)
    assert kind.__doc__ == Some.__doc__
    assert describe_options("some", kind) == describe_options("some", Some)
    made = configure({"some": kind}, ["some.count=7"])["some"]
    assert (made.options.count, made.options.least) == (7, 0.5)
    with pytest.raises(ConfigError, match=r"some\.least = 2\.0 is above 1"):
        configure({"some": kind}, ["some.least=2"])
    with pytest.raises(PluginError, match="process of its own"):
        made.run(None)


@pytest.mark.parametrize("row", [{}, {"options": 5}, {"options": [{}]}])
def test_a_description_that_is_none_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(PluginError, match="garbage"):
        standin(row)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("some.least=0.25", "least", 0.25),
        ("some.count=9", "count", 9),
        ("some.loud=yes", "loud", True),
        ("some.loud=FALSE", "loud", False),
        ("some.word=a=b", "word", "a=b"),
        ("some.word=", "word", ""),
    ],
)
def test_options_are_read_by_their_type(text: str, name: str, value: object) -> None:
    options = configure({"some": Some}, [text])["some"].options
    assert getattr(options, name) == value
    assert type(getattr(options, name)) is type(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("some", "not id.option=value"),
        ("some=1", "not id.option=value"),
        ("other.least=1", "no analysis 'other'"),
        ("some.most=1", "no option 'most'"),
        ("some.least=much", "not a number"),
        ("some.count=1.5", "not a whole number"),
        ("some.loud=maybe", "not true or false"),
        ("some.least=-0.1", "below 0"),
        ("some.least=nan", "below 0"),
        ("some.least=inf", "above 1"),
        ("some.count=0", "below 1"),
    ],
)
def test_a_wrong_option_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        configure({"some": Some}, [text])


def test_options_are_described_with_unit_and_meaning() -> None:
    first = describe_options("some", Some).splitlines()[0]
    assert first == "  -O some.least=0.5 %: At least; ours."


def test_an_option_of_another_type_is_refused() -> None:
    @dataclass(frozen=True)
    class ListOptions(rocperf.Options):
        """Options that no text can set."""

        names: tuple[str, ...] = option(("a",), help="Names.")

    class Listed(Analysis[ListOptions]):
        """An analysis with them."""

        id = "listed"
        title = "Listed"

        def run(self, profile: Profile) -> Iterable[Finding]:
            """Find nothing."""
            return ()

    plugin = SimpleNamespace(rocperf_analyses=hookimpl(lambda: [Listed]))
    with pytest.raises(PluginError, match=r"listed\.names"):
        analyses_of(plugin)


def test_an_analysis_without_a_title_is_refused() -> None:
    with pytest.raises(PluginError, match="title"):
        type("Nameless", (Analysis,), {"id": "nameless"})


def test_the_distribution_is_the_one_that_is_ours() -> None:
    from importlib.metadata import version

    try:
        assert version(registry.OURS) == rocperf.__version__
    except PackageNotFoundError:
        pytest.fail("rocperf is not installed, so none of its plugins would be found")
