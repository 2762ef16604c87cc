"""Install rmaudit with the lowest versions of its dependencies that it allows, and audit a toy.

    python -m scripts.try_lowest

Every module must be importable, every command has its help, and a suite that `rmaudit init` writes
audits a toy. torch is the one of constraints.txt: older builds are gigabytes of CUDA.
"""

from __future__ import annotations

import re
import tempfile
import tomllib
import venv
from pathlib import Path

from scripts.try_wheel import output_of
from tests.toys import toy_checkpoint

ROOT = Path(__file__).parents[1]
IMPORT_ALL = """
import importlib, pkgutil, re, rmaudit
for module in pkgutil.walk_packages(rmaudit.__path__, "rmaudit."):
    if not re.search("starter|__main__|untrusted_code_child", module.name):
        importlib.import_module(module.name)
"""
COMMANDS = (
    *("demo", "init", "data", "models", "doctor", "plan", "sweep", "search", "tokens"),
    *("replay", "compare", "bless", "history", "new-audit"),
)


def main() -> None:
    """Make the environment and try it; end with the output of the first command that fails."""
    with tempfile.TemporaryDirectory(prefix="rmaudit-lowest-") as scratch:
        home = Path(scratch)
        venv.create(home / "env", with_pip=True)
        python = home / "env" / "bin" / "python"
        _install(python, home / "requirements.txt")
        output_of(str(python), "-c", IMPORT_ALL, path=python.parent)
        for command in COMMANDS:
            output_of("rmaudit", command, "--help", path=python.parent)
        (home / "work").mkdir()
        toy_checkpoint(home / "work" / "toy")
        output_of("rmaudit", "init", "--model", "./toy", cwd=home / "work", path=python.parent)
        audit = ("pytest", "audits", "-k", "numerics", "--rm-cache", "cache")
        said = output_of("python", "-m", *audit, cwd=home / "work", path=python.parent)
        print(said.strip().splitlines()[-1])


def _install(python: Path, requirements: Path) -> None:
    """Install rmaudit and the lowest versions of what it requires into an environment."""
    (torch,) = re.findall(r"(?m)^torch==\S+", (ROOT / "constraints.txt").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [torch if each.startswith("torch>") else each for each in project["dependencies"]]
    requirements.write_text("\n".join(asked), encoding="utf-8")
    output_of(str(python), "-m", "pip", "install", "-q", torch)
    uv = ("uv", "pip", "install", "-q", "--python", str(python))
    output_of(*uv, "--resolution", "lowest-direct", "-r", str(requirements))
    output_of(*uv, "--no-deps", str(ROOT))


if __name__ == "__main__":
    main()
