"""Outcomes to text, one format a file."""
