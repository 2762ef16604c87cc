"""Turn entries of models.yaml into specs of models: those that name others, folders and files.

An implicit reward takes its source from the language model that it names, an ensemble from its
members.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmaudit.config import servers, strict_yaml
from rmaudit.config.model_spec import (
    OR_SERVED,
    SOURCE,
    Ensemble,
    Implicit,
    Judge,
    ModelSpec,
    is_hub_id,
)
from rmaudit.config.models_yaml_schema import IMPLICIT, SPEC_KEYS, WAIVER
from rmaudit.config.paths_and_atomic_writes import expanded, is_folder
from rmaudit.config.strict_yaml import Document, YamlProblem, short
from rmaudit.errors import nearest

SOURCES = ("source", "base", "policy", "checkpoint")  # keys that name a folder or a hub id
FILES = ("template", "pairs")  # keys that name a file
_OF_POLICY = ("source", "revision", "template", "dtype")  # what an implicit reward takes from it


def specs(
    entries: Mapping[str, dict[str, Any]], document: Document, folder: Path
) -> dict[str, ModelSpec]:
    """Return the models of a file's validated entries by name; paths start at `folder`.

    Entries that are made of others are given their `source`, in place.

    Raises:
        YamlProblem: an entry contradicts itself, or names what is not there or cannot be used so.
    """
    reader = _Entries(entries, document, folder)
    for name in entries:
        reader.take_from_others(name)
    for name in entries:
        reader.refuse_contradictions(name)
    models = {name: reader.spec(name) for name in entries}
    if not models:
        raise YamlProblem(document.nodes["models",][0], "there is no model; write one or more")
    defaults = [name for name, spec in models.items() if spec.default]
    if len(defaults) > 1:
        what = f"a second 'default: true', after {defaults[0]}"
        raise document.problem(("models", defaults[1]), what, of_key=True)
    return models


def spelled_out(given: str, folder: Path) -> str:
    """Return a source with ./ before it if it is a folder in `folder`, else as it is."""
    return f"./{given}" if given[0] not in "./~" and is_folder(folder / given) else given


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of a models.yaml by name, as validated, and where their keys stand."""

    of: Mapping[str, dict[str, Any]]
    document: Document
    folder: Path

    def take_from_others(self, name: str) -> None:
        """Give an entry that is made of others its source, and check whom it names."""
        entry, place = self.of[name], ("models", name, "source")
        implicit, ensemble = entry["implicit"], entry["ensemble"]
        if made := next((key for key in ("implicit", "ensemble") if entry[key] is not None), ""):
            by = "policy" if implicit else "members"
            if place in self.document.nodes:
                what = f"`{made}` names its models itself, by `{by}`; remove the line `source`"
                raise self.document.problem(place, what, of_key=True)
        elif not entry["source"]:
            what = f"the key 'source' is missing; expected {OR_SERVED}"
            raise self.document.problem(place[:2], what, of_key=True)
        if ensemble is not None:
            self._refuse_members(name, ensemble.members)
            entry["source"] = f"{servers.ENSEMBLE}+{'+'.join(ensemble.members)}"
        if implicit is not None:
            self._refuse_language_models(name, implicit)
            at_hub = entry["revision"] is not None
            source = implicit.policy if at_hub else spelled_out(implicit.policy, self.folder)
            theirs = self.of.get(implicit.policy, {**entry, "source": source})
            written = [key for key in _OF_POLICY if ("models", name, key) in self.document.nodes]
            entry |= {key: theirs[key] for key in _OF_POLICY if key not in written}

    def _refuse_language_models(self, name: str, keys: IMPLICIT) -> None:
        """Raise unless an implicit reward names language models."""
        meant = {
            "policy": "the trained model",
            "reference": "the model that the policy was trained from",
        }
        for key, model in meant.items():
            given = getattr(keys, key)
            if given is None:
                continue
            what = ""
            if (other := self.of.get(given)) is not None:
                if other["implicit"] is not None:
                    what = f"{given} is an implicit reward itself, and no language model; name its "
                    what += "own policy"
                elif other["ensemble"] is not None:
                    what = f"{given} is an ensemble, and no language model; name one"
            elif not re.fullmatch(SOURCE, spelled_out(given, self.folder)):
                others = ", ".join(other for other in self.of if other != name)
                by_name = f", its folder, or its name in this file ({others})"
                what = f"{short(given)} is no model of this file, no hub id and no folder; give "
                what += f"{model}, by its hub id (owner/name)"
                what += by_name if others else " or its folder"
            if what:
                raise self.document.problem(("models", name, "implicit", key), what)

    def _refuse_members(self, name: str, members: Sequence[str]) -> None:
        """Raise unless each member of an ensemble is a model of the file that can be one."""
        for place, member in enumerate(members):
            other, what = self.of.get(member), ""
            if other is None:
                what = f"{short(member)} is no model of this file;{nearest(member, self.of)} "
                what += f"known: {', '.join(self.of)}"
            elif other["ensemble"] is not None:
                what = f"{member} is an ensemble itself; name its members"
            elif other["implicit"] is not None:
                what = f"{member} is an implicit reward, which is known only up to a number for "
                what += "each prompt, so it cannot be standardised; leave it out"
            if what:
                raise self.document.problem(("models", name, "ensemble", "members", place), what)

    def refuse_contradictions(self, name: str) -> None:
        """Raise if an entry has keys that have no effect or contradict each other."""
        entry = self.of[name]
        for key, what in _contradictions(entry):
            path: strict_yaml.Path = ("models", name, key)
            if path in self.document.nodes:  # it stands in the file
                raise self.document.problem(path, what, of_key=True)
        known = {audit.partition("[")[0] for audit in entry["known"]}
        for audit in entry["waivers"]:
            if audit.partition("[")[0] in known:
                path = ("models", name, "waivers", audit)
                what = "it is in `known` too; keep one of them"
                raise self.document.problem(path, what, of_key=True)

    def spec(self, name: str) -> ModelSpec:
        """Return an entry with those that it is made of; relative folders and files absolute.

        Of members that were trained on half of the reference words, an ensemble is judged by the
        other half.
        """
        entry = self.of[name]
        keys: dict[str, Any] = {key: entry[key] for key in SPEC_KEYS}
        keys["wanted"] = tuple(entry["wanted"].items())
        if (judge := entry["judge"]) is not None:
            keys["judge"] = self._judge(name, dict(judge))
            keys["template"] = judge.template
        if (implicit := entry["implicit"]) is not None:
            reference = implicit.reference and self._reference(name, implicit.reference)
            keys["implicit"] = Implicit(reference or None, implicit.beta or 1.0, implicit.closing)
        if (ensemble := entry["ensemble"]) is not None:
            members = tuple(self.spec(member) for member in ensemble.members)
            k = 1.0 if ensemble.k is None else ensemble.k
            keys["ensemble"] = Ensemble(members, ensemble.rule, k)
            halves = (each.trained_on for each in members if each.trained_on)
            keys["trained_on"] = entry["trained_on"] or next(halves, None)
        keys |= {key: self._absolute(name, key, keys[key]) for key in (*SOURCES, *FILES)}
        return ModelSpec(name, **keys)

    def _judge(self, name: str, keys: dict[str, Any]) -> Judge:
        files = [(self.folder / expanded(file)).resolve() for file in keys["paraphrases"]]
        if missing := [path for path in files if not path.is_file()]:
            what = f"there is no file {missing[0]}"
            raise self.document.problem(("models", name, "judge", "paraphrases"), what)
        return Judge(**{**keys, "paraphrases": tuple(map(str, files))})

    def _reference(self, name: str, given: str) -> ModelSpec:
        """Return the entry of the reference model `given`: one of the file, or a new one."""
        if given in self.of:
            return self.spec(given)
        plain = spelled_out(given, self.folder)[0] in "./~"
        place = str((self.folder / expanded(given)).resolve()) if plain else given
        return ModelSpec(f"{name}'s reference", place)

    def _absolute(self, name: str, key: str, given: str | None) -> str | None:
        """Return a folder or file of an entry as it is found from anywhere; hub ids as they are."""
        if given is None or (key not in FILES and given[0] not in "./~"):
            return given
        path = self.folder / expanded(given)
        try:
            path.stat()
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
                what = f"{short(given)} is no path: {error.strerror}"
                raise self._problem(name, key, what) from None
        if key in FILES and not path.is_file():
            raise self._problem(name, key, f"there is no file {path.resolve()}")
        return str(path.resolve()) if key in FILES or given[0] == "." else given

    def _problem(self, name: str, key: str, what: str) -> YamlProblem:
        """Return an error about a key, where it stands: in the entry, its judge or its policy."""
        policy = getattr(self.of[name]["implicit"], "policy", "")
        paths = [("models", name, key), ("models", name, "judge", key), ("models", policy, key)]
        paths.append(("models", name, "implicit", "policy"))
        found = next(path for path in paths if path in self.document.nodes)
        return YamlProblem(self.document.nodes[found][1], f"{name}: {key}: {what}")


def _contradictions(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each key that an entry like this cannot have, whether it stands there, and why."""
    if entry["ensemble"] is not None:
        for key in (*servers.WITHOUT, *servers.KEYS, "judge", "template", "implicit"):
            yield key, "each member's own entry says that; remove it here"
    if not is_hub_id(entry["source"]):
        yield "revision", "only a hub id has revisions"
    if kind := servers.kind_of(entry["source"]):
        yield from _contradictions_of_kind(kind, entry["version"])
    else:
        for key in servers.KEYS:
            yield key, "it is for a model behind a server (source: vllm+http://host:8000)"
    yield from _second_places_of_reward(entry)
    if not entry["waivers"] and not entry["known"]:
        yield "weights", "it says for which weights `waivers` hold, and there are none"
    if entry["source"] != "embedded":
        what = "it is for the bundled model (source: embedded); of any other, write "
        yield "known", what + f"`waivers`, each with {', '.join(WAIVER.model_fields)}"


def _contradictions_of_kind(kind: str, version: str | None) -> Iterator[tuple[str, str]]:
    """Yield the like of an entry whose source is `KIND+...`: a server, or another package's."""
    decides = "whoever started its server" if kind in servers.KINDS else f"the source {kind!r}"
    for key in servers.WITHOUT:
        yield key, f"{decides} decides that"
    if wrong := servers.unknown_kind(kind):
        yield "source", wrong
    if kind not in servers.JUDGING:
        yield "judge", "this server gives rewards of its own; serve a judge with vLLM or SGLang"
    if kind in servers.SILENT and version is None:
        what = "this server does not say what it serves, and scores of other weights would be read "
        yield "source", f'{what}back as its own; give `version`, such as "2026-11-20"'


def _second_places_of_reward(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if entry["judge"] is not None:
        yield "template", "a judge has its own: write it as judge: {template: FILE, ...}"
        for key in ("logit", "pool"):
            yield key, "a judge's reward is its verdict at the row's last id; remove one of them"
    for key in ("logit", "judge"):
        if entry["objective"] is not None and entry[key] is not None:
            yield "objective", f"it is an output of a head, and `{key}` says where the reward is"
