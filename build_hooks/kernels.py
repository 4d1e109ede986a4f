"""Wheels with compiled kernels: GRHMC_COMPILE_KERNELS=1 python -m build --wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Compiles all kernels for this kind of machine and puts them into the wheel, which is then for such machines.

    Without GRHMC_COMPILE_KERNELS=1 the wheel is for any machine, and kernels are compiled where it is used.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless the installation is editable."""
        if version == "editable" or not _is_wanted():
            return
        root = Path(self.root)
        archive = Path(self.directory, "kernels.zip")
        archive.parent.mkdir(parents=True, exist_ok=True)
        script = root / "build_hooks" / "compile_ahead.py"
        environment = {**os.environ, "PYTHONPATH": str(root / "src")}
        subprocess.run([sys.executable, str(script), str(archive)], check=True, env=environment)
        build_data["force_include"][str(archive)] = "grhmc/kernels.zip"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform()}"

    def dependencies(self) -> list[str]:
        """What the build needs: all that grhmc needs, because it runs."""
        return list(self.metadata.core.dependencies) if _is_wanted() else []

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing but the wheel behind."""
        Path(self.directory, "kernels.zip").unlink(missing_ok=True)


def _is_wanted() -> bool:
    return os.environ.get("GRHMC_COMPILE_KERNELS") == "1"


def _platform() -> str:
    """The tag of wheels for this machine: object code asks nothing of the operating system but C's functions."""
    machine = sysconfig.get_platform().rpartition("-")[2]
    if sys.platform == "linux":
        return f"manylinux_2_17_{machine}"
    if sys.platform == "darwin":
        return f"macosx_11_0_{machine}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
