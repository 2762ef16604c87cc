"""Build sdist and wheel, check how an index would show them, and try the wheel.

    python -m scripts.try_wheel [FOLDER]

The wheel is built from the sdist. Installed into a new environment, where nothing of the checkout
is, it audits a toy. That environment has the packages of this one, but for rmaudit, which is the
wheel's. So this takes seconds. The files are left in FOLDER, where one is given.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

from tests.toys import toy_checkpoint

ROOT = Path(__file__).parents[1]
CHECK = ("uvx", "twine==7.0.0", "check", "--strict")
WHERE = "import rmaudit; print(rmaudit.__file__, rmaudit.__version__)"
IN_PYTHON = "import rmaudit; print(rmaudit.run('./toy', audits=['numerics']).figures[0].estimate)"


def main() -> int:
    """Build both files and try the wheel; return exit code 0 if it works, else 1."""
    with tempfile.TemporaryDirectory(prefix="rmaudit-wheel-") as scratch:
        files = _built(Path(scratch))
        toy_checkpoint(Path(scratch) / "toy")
        (wheel,) = (file for file in files if file.suffix == ".whl")
        if not _works(wheel, Path(scratch)):
            print(f"does not work: {wheel.name}")
            return 1
        for folder in sys.argv[1:2]:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for file in files:
                shutil.copy2(file, folder)
    return 0


def _built(home: Path) -> list[Path]:
    """Build the sdist, and the wheel from it; return their paths once twine accepts them."""
    output_of("uv", "build", "-q", "--no-create-gitignore", "-o", str(home / "dist"), str(ROOT))
    files = sorted((home / "dist").iterdir())
    print(output_of(*CHECK, *map(str, files)).strip())
    return files


def _works(file: Path, scratch: Path) -> bool:
    """Return whether a suite that `rmaudit init` writes audits a toy, with this file installed."""
    home = scratch / "of-wheel"
    python = _installed(file, home)
    shutil.copytree(scratch / "toy", home / "work" / "toy")

    def run(*command: str) -> str:
        return output_of(*command, cwd=home / "work", path=python.parent)

    place, _, version = run("python", "-c", WHERE).strip().rpartition(" ")
    if not Path(place).is_relative_to(home) or f"-{version}" not in file.name:
        print(f"this is not {file.name}: {place} {version}")
        return False
    run("rmaudit", "init", "--model", "./toy")
    told = run("python", "-m", "pytest", "audits", "-k", "numerics", "--rm-cache", "cache")
    listed = run("rmaudit", "models", "--json")
    said = run("python", "-c", IN_PYTHON)
    print(f"{file.name}: {told.splitlines()[-1]}")
    return "95 % interval" in said and '"toy"' in listed


def _installed(file: Path, home: Path) -> Path:
    """Return the Python of a new environment that has the file, and all else from this one."""
    venv.create(home / "env")
    python = home / "env" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", str(python))
    output_of(*pip, "install", "-q", "--no-deps", str(file))
    ours = output_of(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    more = [path for path in sys.path if path.endswith("site-packages")]
    paths = "\n".join(dict.fromkeys([sysconfig.get_path("purelib"), *more]))
    (Path(ours.strip()) / "packages.pth").write_text(paths + "\n", encoding="utf-8")
    return python


def output_of(*command: str, cwd: Path | None = None, path: Path | None = None) -> str:
    """Run a command and return what it prints; if it fails, end this program with its output."""
    left = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    first = f"{path}{os.pathsep}" if path else ""
    done = subprocess.run(  # noqa: S603  (commands of this file)
        command,
        cwd=cwd,
        env={**left, "PATH": f"{first}{left['PATH']}", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
