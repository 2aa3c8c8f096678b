"""Profiler output into a profile: find files, read each format, match what several runs saw."""
