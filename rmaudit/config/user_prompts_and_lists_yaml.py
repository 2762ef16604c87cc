"""Read a user's own prompts and word lists from models.yaml or from a YAML file of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rmaudit.config import strict_yaml
from rmaudit.config.models_yaml_schema import OWN
from rmaudit.config.paths_and_atomic_writes import expanded, is_file
from rmaudit.config.strict_yaml import Document, YamlProblem, short
from rmaudit.config.user_prompts_and_lists import ROLES, SCALES, OwnLexicon, OwnWords, joined
from rmaudit.config.yaml_errors import validated
from rmaudit.conversation import turns
from rmaudit.errors import SpecError, nearest
from rmaudit.prompts import ALL, Prompt, prompt_named

SUFFIXES = (".csv", ".parquet")
_OURS = "a bundled one has this name; give yours another"


def with_run_prompts(file_or_names: str, known: OwnWords) -> OwnWords:
    """Return `known` (models.yaml's prompts and lists) with the prompts that --rm-prompts asks.

    `file_or_names` is the option's value: a YAML file, or names of prompts, with commas between.

    Raises:
        SpecError: the file cannot be read, is not right or has no prompts; or a name is unknown.
    """
    path = expanded(file_or_names)
    if path.suffix in {".yaml", ".yml", ".json"} or is_file(path):
        return joined(known, load(path))
    asked = tuple(prompt_named(name.strip(), known.prompts) for name in file_or_names.split(","))
    return replace(known, asked=tuple(dict.fromkeys(asked)))


def load(path: Path) -> OwnWords:
    """Read a --rm-prompts file: prompts for the run to ask, and lexicons, words and rankings.

    Raises:
        SpecError: it cannot be read, says anything that is not understood, or has no prompts.
    """
    try:
        document = strict_yaml.read(path.read_bytes())
        found = words_of(validated(document, OWN), document, path)
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}; give a YAML file of prompts, or names"
        raise SpecError(message) from None
    except YamlProblem as problem:
        raise SpecError(f"{path}:{problem.line}: {problem}") from None
    if not found.prompts:
        message = f"{path}: it has no `prompts`, so there is nothing to ask; give it some, or put "
        raise SpecError(f"{message}its lexicons, words and rankings into models.yaml")
    return found


def words_of(said: Mapping[str, Any], document: Document, path: Path) -> OwnWords:
    """Return the user's prompts, lexicons, words and rankings in `said`, a type-checked YAML file.

    Paths in it are relative to its folder.

    Raises:
        YamlProblem: a prompt is none, a file is not there, or a name is rmaudit's or unknown.
    """
    for key in ("lexicons", "words", "rankings"):
        for name in said[key]:
            if name in ROLES:
                raise document.problem((key, name), _OURS)
    prompts = {name: _prompt(name, of, document) for name, of in said["prompts"].items()}
    for name, prompt in prompts.items():
        if ALL.get(name, prompt) != prompt:
            raise document.problem(("prompts", name), _OURS)
    lexicons = {
        name: OwnLexicon(_file("lexicons", name, of.file, document, path.parent), of.scale)
        for name, of in said["lexicons"].items()
    }
    rankings = {
        name: _file("rankings", name, of.file, document, path.parent)
        for name, of in said["rankings"].items()
    }
    for name, words in said["words"].items():
        if not words:
            raise document.problem(("words", name), "expected a list of words, got an empty one")
    _check_instead(said, lexicons, document)
    return OwnWords(
        source=path.name,
        language=said["language"],
        prompts=prompts,
        lexicons=lexicons,
        words=said["words"],
        rankings=rankings,
        instead=said["instead"],
        asked=tuple(prompts.values()),
    )


def _prompt(name: str, of: Any, document: Document) -> Prompt:  # noqa: ANN401  (a PROMPT)
    """Return the prompt that the YAML file defines under `name`."""
    try:
        if of.conversation is None:
            return Prompt(name, of.text, of.frame)
        said = turns(of.conversation, "")
        return Prompt.conversation(
            name, [{"role": role, "content": content} for role, content in said], of.frame
        )
    except SpecError as error:
        key = "text" if of.conversation is None else "conversation"
        raise document.problem(("prompts", name, key), str(error)) from None


def _file(key: str, name: str, given: str, document: Document, folder: Path) -> Path:
    path: strict_yaml.Path = (key, name, "file")
    found = folder / expanded(given)
    if found.suffix not in SUFFIXES:
        what = f"{short(given)}: allowed are {' and '.join(SUFFIXES)} files"
        raise document.problem(path, what)
    if not is_file(found):
        raise document.problem(path, f"there is no file {found.absolute()}")
    return found.resolve()


def _check_instead(
    said: Mapping[str, Any], lexicons: Mapping[str, OwnLexicon], document: Document
) -> None:
    for role, name in said["instead"].items():
        kind, path = ROLES[role], ("instead", role)
        if name not in said[kind]:
            known = ", ".join(said[kind]) or "none"
            what = f"no {kind} of this file are called {short(name)};{nearest(name, said[kind])}"
            raise document.problem(path, f"{what} known: {known}")
        if role in SCALES and lexicons[name].scale is None:
            what = f"{name} takes the place of {role}, whose values go from "
            what += "{:g} to {:g}; say what its own are: ".format(*SCALES[role])
            what += f"`scale: [least, greatest]` below lexicons: {name}"
            raise document.problem(path, what)
