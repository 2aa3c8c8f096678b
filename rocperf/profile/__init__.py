"""Profiles: open one, ask it questions."""

from __future__ import annotations

from rocperf.profile.connecting import is_profile
from rocperf.profile.opening import Profile, open_profile
from rocperf.profile.statements import check_one

__all__ = ["Profile", "check_one", "is_profile", "open_profile"]
