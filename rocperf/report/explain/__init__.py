"""Names explained in text, offline: metrics, counters, analyses, hardware."""

from rocperf.report.explain.lookup import explain, list_names

__all__ = ["explain", "list_names"]
