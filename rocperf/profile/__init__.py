"""Profiles: open one, ask it questions."""

from __future__ import annotations

from rocperf.profile.connecting import is_profile
from rocperf.profile.opening import Profile, open_profile

__all__ = ["Profile", "is_profile", "open_profile"]
