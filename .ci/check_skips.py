"""Hold a test report against the rule that recorded traces are tested where they exist.

``check_skips.py REPORT.xml TRACES`` fails when a test skipped for want of recorded traces
although the folder is there, and lists every other skip with its reason. Standard library only.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

#: How the fixture `recorded` of tests/conftest.py begins the reason of a skip.
WANT = "no recorded traces"


def main(arguments: list[str]) -> int:
    """Check one report; return an exit code."""
    report, traces = Path(arguments[0]), Path(arguments[1])
    if not report.is_file():
        print(f"there is no test report {report}: did the tests run at all?")
        return 1
    # The report is pytest's, written a moment ago by this very check.
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314
    reasons = Counter(skip.get("message", "") for case in cases for skip in case.iter("skipped"))
    for reason, times in reasons.most_common():
        print(f"{times} skipped: {reason}")
    wanting = sum(times for reason, times in reasons.items() if reason.startswith(WANT))
    if not cases:
        print("the report holds no test")
        return 1
    if wanting and traces.is_dir():
        print(f"{wanting} tests skipped although {traces} exists")
        return 1
    if not traces.is_dir():
        print(f"note: {traces} does not exist, so recorded traces were not tested")
    print(f"{len(cases)} tests in the report, {sum(reasons.values())} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
