"""Check what the documentation says against the code and the tree.

Every relative link and anchor resolves; every page is linked from the index; every command
line shown is one that ``rocperf`` parses; every Python block compiles; every exit code is
explained; no tracked file names a path of somebody's machine or a host of packages.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rocperf import errors
from rocperf.cli import parser

ROOT = Path(__file__).resolve().parent.parent

_FENCE = re.compile(r"^```([\w-]*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)
# Written in pieces, so that this file does not name what it forbids.
_FORBIDDEN = re.compile(
    "|".join(
        (
            r"(?<![\w.])/work" + r"/\w",
            r"(?<![\w.])/root" + r"/\w",
            r"/home" + r"/(?!user\b|me\b|you\b|synthetic\b)\w",
            r"/brief" + r"/\w",
            "pypi" + r"\.org",
            "python" + r"hosted\.org",
            "npmjs" + r"\.(org|com)",
            "(extra-)?index-" + "url",
        )
    )
)
_TEXT = {".cfg", ".css", ".csv", ".json", ".md", ".py", ".sql", ".svg", ".tcss", ".toml", ".txt"}


def main() -> int:
    """Run every check; print one line a problem."""
    tracked = _tracked()
    pages = {path: path.read_text(encoding="utf-8") for path in tracked if path.suffix == ".md"}
    problems = [
        *_links(pages),
        *_reachable(pages),
        *_commands(pages),
        *_python(pages),
        *_exit_codes(),
        *_private_names(tracked),
    ]
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(tracked)} files, {len(problems)} problems")
    return int(bool(problems))


def _tracked() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = (ROOT / name for name in listing.stdout.split("\0") if name)
    return sorted(path for path in paths if path.is_file())


def _slug(heading: str) -> str:
    words = re.sub(r"[`*]", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def _targets(page: Path, text: str) -> Iterator[tuple[str, Path, str]]:
    """Yield every relative link of a page: as written, the file, the anchor."""
    for match in _LINK.finditer(_FENCE.sub("", text)):
        link = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        yield link, (page.parent / name).resolve() if name else page, anchor


def _links(pages: dict[Path, str]) -> Iterator[str]:
    for page, text in pages.items():
        for link, target, anchor in _targets(page, text):
            if not target.exists():
                yield f"{_name(page)}: {link} leads nowhere"
            elif not target.is_relative_to(ROOT):
                yield f"{_name(page)}: {link} leads out of the repository"
            elif anchor and target.suffix == ".md":
                headings = _HEADING.findall(_FENCE.sub("", target.read_text(encoding="utf-8")))
                if anchor not in map(_slug, headings):
                    yield f"{_name(page)}: {link} names no heading"


def _reachable(pages: dict[Path, str]) -> Iterator[str]:
    index = ROOT / "docs" / "index.md"
    seen: set[Path] = set()
    waiting = [index]
    while waiting:
        page = waiting.pop()
        if page not in seen and page in pages:
            seen.add(page)
            waiting += [target for _, target, _ in _targets(page, pages[page])]
    for page in pages:
        if page.is_relative_to(ROOT / "docs") and page not in seen:
            yield f"{_name(page)}: no path of links from docs/index.md leads here"


def _blocks(pages: dict[Path, str], *languages: str) -> Iterator[tuple[Path, int, str]]:
    for page, text in pages.items():
        for match in _FENCE.finditer(text):
            if match.group(1) in languages:
                yield page, text.count("\n", 0, match.start()) + 2, match.group(2)


def _commands(pages: dict[Path, str]) -> Iterator[str]:
    """Parse every ``rocperf`` command line that a shell block shows."""
    for page, first, block in _blocks(pages, "sh", "console", "bash"):
        for number, line in _joined(block):
            for part in re.split(r"&&|\|\|?|;", line.removeprefix("$ ")):
                match = re.match(r"\s*(?:[A-Z_]+=\S+ )*(?:\S*/)?rocperf (.*)", part)
                if match is None:
                    continue
                complaint = _complaint(match.group(1))
                if complaint:
                    yield f"{_name(page)}:{first + number}: {complaint}: rocperf {match.group(1)}"


def _joined(block: str) -> Iterator[tuple[int, str]]:
    number, held = 0, ""
    for at, line in enumerate(block.splitlines()):
        if not held:
            number = at
        held += line
        if held.endswith("\\"):
            held = held[:-1]
            continue
        yield number, held
        held = ""


def _complaint(text: str) -> str | None:
    try:
        arguments = shlex.split(text, comments=True)
    except ValueError as error:
        return str(error)
    if "--help" in arguments or "--version" in arguments:
        return None
    top = parser()
    complaints: list[str] = []
    _silence(top, complaints)
    try:
        top.parse_args(arguments)
    except SystemExit:
        complaints.append("not parsed")
    return complaints[0] if complaints else None


def _silence(one: argparse.ArgumentParser, complaints: list[str]) -> None:
    """Collect what a parser and its verbs complain of, in place of printing it."""

    def error(message: str) -> None:
        complaints.append(message)
        raise SystemExit(2)

    one.error = error  # type: ignore[method-assign, assignment]
    for action in one._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _silence(each, complaints)


def _python(pages: dict[Path, str]) -> Iterator[str]:
    for page, first, block in _blocks(pages, "python", "py"):
        try:
            compile(block, str(page), "exec")
        except SyntaxError as error:
            yield f"{_name(page)}:{first + (error.lineno or 1) - 1}: {error.msg}"


def _exit_codes() -> Iterator[str]:
    page = ROOT / "docs" / "reference" / "exit-codes.md"
    text = page.read_text(encoding="utf-8")
    leaves = (each for each in vars(errors).values() if isinstance(each, type))
    codes = {each.exit_code for each in leaves if issubclass(each, errors.RocperfError)}
    for code in sorted(codes | {0, 1}):
        if not re.search(rf"^\| {code} \|", text, re.MULTILINE):
            yield f"{_name(page)}: exit code {code} is not explained"


def _private_names(tracked: list[Path]) -> Iterator[str]:
    for path in tracked:
        if path.suffix not in _TEXT and path.suffix:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for match in _FORBIDDEN.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{_name(path)}:{line}: names {match.group()!r}"


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
