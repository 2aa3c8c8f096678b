"""What ``--help`` says: something about every verb and every option."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from rocperf.cli import parser


def _actions(top: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
        else:
            yield top.prog, action


@pytest.mark.parametrize(
    ("verb", "action"),
    [pytest.param(*each, id=f"{each[0]} {each[1].dest}") for each in _actions(parser())],
)
def test_every_option_says_what_it_does(verb: str, action: argparse.Action) -> None:
    assert (action.help or "").strip(), f"{verb} {action.option_strings or action.dest}"


@pytest.mark.parametrize(
    ("option", "said"), [("--plugin", "analyses of this file"), ("-O", "option of an analysis")]
)
def test_collect_explains_its_plugins(option: str, said: str) -> None:
    (text,) = [
        str(action.help)
        for verb, action in _actions(parser())
        if verb.endswith(" collect") and option in action.option_strings
    ]
    assert said in text
