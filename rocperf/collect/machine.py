"""The GPUs of this machine, as the driver tells them, and whether they may be used."""

from __future__ import annotations

import errno
import grp
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocperf.errors import InputError, MachineError
from rocperf.ingest.topology import read_sysfs

#: Performance levels at which Radeon GPUs keep the clock of their counters on.
FIXED_LEVELS = frozenset({"profile_standard", "profile_peak", "high", "manual"})

Row = dict[str, str | int | None]


def sysfs_folder() -> Path:
    """Where the driver's topology is: ``ROCPERF_SYSFS`` or ``/sys``."""
    return Path(os.environ.get("ROCPERF_SYSFS") or "/sys")


def device_folder() -> Path:
    """Where device nodes are: ``ROCPERF_DEV`` or ``/dev``."""
    return Path(os.environ.get("ROCPERF_DEV") or "/dev")


@dataclass(frozen=True)
class Machine:
    """What the driver lists.

    Parameters
    ----------
    agents, links
        Rows of the tables of the same names, without run and file.
    """

    agents: tuple[Row, ...]
    links: tuple[Row, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """Targets of the GPUs, the one with most compute units first; equal ones repeat."""
        gpus = [row for row in self.agents if row["kind"] == "GPU" and row["target"]]
        gpus.sort(key=lambda row: -int(row["cu_count"] or 0))
        return tuple(str(row["target"]) for row in gpus)


@dataclass(frozen=True)
class Trouble:
    """Something that keeps GPUs from being used, and how to mend it."""

    message: str
    fix: str


def look(sysfs: Path | None = None) -> Machine:
    """Read the driver's topology.

    Parameters
    ----------
    sysfs
        Root of it; by default `sysfs_folder`.

    Raises
    ------
    MachineError
        If no GPU is listed.
    """
    root = sysfs or sysfs_folder()
    try:
        agents, links = read_sysfs(root)
        machine = Machine(tuple(agents.to_dicts()), tuple(links.to_dicts()))
    except (OSError, InputError) as error:
        raise MachineError(
            f"no AMD GPU visible: {getattr(error, 'message', error)}", hint="rocperf doctor"
        ) from error
    if not machine.targets:
        raise MachineError(
            f"no AMD GPU visible: {root}/class/kfd lists none",
            hint="is the amdgpu driver loaded? Reading profiles needs no GPU",
        )
    return machine


def device_trouble(
    dev: Path | None = None, opener: Callable[[str, int], int] = os.open
) -> Trouble | None:
    """Try the device nodes that ROCm opens.

    Parameters
    ----------
    dev
        Where they are; by default `device_folder`.
    opener
        As `os.open`.

    Returns
    -------
    Trouble or None
        None when they can be used. Each cause has its own sentence: ROCm's own messages name
        groups whatever the cause is.
    """
    dev = dev or device_folder()
    kfd = dev / "kfd"
    try:
        # A regular file plays a device in tests, where it may well be read-only.
        played = kfd.is_file()
        os.close(opener(str(kfd), os.O_RDONLY if played else os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return _kfd_trouble(kfd, error)
    if not any(dev.glob("dri/renderD*")):
        return Trouble(
            f"{dev}/dri/renderD* not passed to the container",
            "start the container with --device /dev/dri, too",
        )
    return None


def _kfd_trouble(kfd: Path, error: OSError) -> Trouble:
    if error.errno in (errno.ENOENT, errno.ENXIO, errno.ENODEV, errno.ENOTDIR):
        return Trouble(
            f"no {kfd}: kernel driver not loaded or device not passed to the container",
            "sudo modprobe amdgpu; in a container: --device /dev/kfd --device /dev/dri",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        group = _group_of(kfd)
        return Trouble(
            f"no permission on {kfd}: join group of the device ({group or 'render/video'})",
            f"sudo usermod -aG {group or 'render,video'} $USER, then log in again",
        )
    name = errno.errorcode.get(error.errno or 0, str(error.errno))
    return Trouble(
        f"{kfd} opens with {name}: driver and runtime mismatch",
        "install the driver (amdgpu-dkms) and ROCm of one release, then restart",
    )


def _group_of(path: Path) -> str | None:
    try:
        return grp.getgrgid(path.stat().st_gid).gr_name
    except (OSError, KeyError):
        return None


def missing_groups(dev: Path | None = None) -> tuple[str, ...]:
    """Name the groups of device nodes that this user is not in; none for root or open nodes."""
    dev = dev or device_folder()
    mine = {os.getegid(), *os.getgroups()}
    absent: dict[str, None] = {}
    for node in [dev / "kfd", *sorted(dev.glob("dri/renderD*"))]:
        try:
            state = node.stat()
        except OSError:
            continue
        open_to_all = stat.S_IMODE(state.st_mode) & 0o006 == 0o006
        if state.st_gid not in mine and not open_to_all and os.geteuid() != 0:
            absent[_group_of(node) or str(state.st_gid)] = None
    return tuple(absent)


def performance_levels(sysfs: Path | None = None) -> tuple[str, ...]:
    """Return the performance levels that graphics cards are set to, each once."""
    found: set[str] = set()
    pattern = "class/drm/card*/device/power_dpm_force_performance_level"
    for path in (sysfs or sysfs_folder()).glob(pattern):
        try:
            found.add(path.read_text(encoding="utf-8", errors="replace").strip())
        except OSError:
            continue
    return tuple(sorted(found))


def gated(target: str, levels: Sequence[str]) -> bool:
    """Tell whether a GPU may gate the clock of its counters: RDNA at a level that is not fixed."""
    return target.startswith("gfx1") and not (levels and set(levels) <= FIXED_LEVELS)


def visibility_warnings(environment: Mapping[str, str], gpus: int) -> tuple[str, ...]:
    """Say where variables of visible devices name devices that are hidden or not there.

    Parameters
    ----------
    environment
        Variables of the program.
    gpus
        How many GPUs the driver lists.
    """
    warnings: list[str] = []
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        text = environment.get(name)
        if text is None:
            continue
        entries = [entry.strip() for entry in text.split(",") if entry.strip()]
        beyond = [e for e in entries if e.isascii() and e.isdecimal() and int(e) >= gpus]
        if beyond:
            warnings.append(
                f"{name} indexes hidden devices: {', '.join(beyond)} of {gpus} visible GPU"
                + ("s" if gpus != 1 else "")
            )
        # HIP numbers what ROCr leaves visible.
        gpus = len(entries) - len(beyond)
    return tuple(warnings)
