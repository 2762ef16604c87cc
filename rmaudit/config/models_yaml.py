"""Reading models.yaml: its bytes become models and a policy, or a `YamlProblem` with its line.

pydantic takes a tenth of a second to import, so `registry` imports this module when it reads.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from yaml import ScalarNode

from rmaudit.config import servers, strict_yaml, user_prompts_and_lists_yaml
from rmaudit.config.model_spec import (
    NAMED,
    SOURCE,
    Ensemble,
    Implicit,
    Judge,
    ModelSpec,
    is_hub_id,
    pinned,
)
from rmaudit.config.models_yaml_schema import (
    ENSEMBLE,
    FILE,
    IMPLICIT,
    POLICY_KEYS,
    SPEC_KEYS,
    WAIVER,
)
from rmaudit.config.paths_and_atomic_writes import expanded, is_folder
from rmaudit.config.strict_yaml import Document, YamlProblem, label, short
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.config.yaml_errors import validated
from rmaudit.errors import nearest
from rmaudit.verdicts.verdict_policy import NamedAudit, Policy, Rules, Waiver

_SOURCES = ("source", "base", "policy", "checkpoint")  # keys that name a folder or a hub id
_FILES = ("template", "pairs")  # keys that name a file
_PLACES = (*_SOURCES, *_FILES, "reference")  # keys whose value an error may quote


def read(raw: bytes, path: Path) -> tuple[dict[str, ModelSpec], Policy, OwnWords]:
    """Parse models.yaml into models by name, the policy for verdicts, and the user's own words.

    Raises:
        YamlProblem: the file has an error.
    """
    document = _with_implicit_sources(strict_yaml.read(raw))
    _give_ensembles_sources(document)
    _refuse_secrets(document)
    _spell_out_folders(document.value, path.parent)
    file = validated(document, FILE)
    entries = {name: dict(entry) for name, entry in file["models"].items()}
    implicit = {name: entry.pop("implicit") for name, entry in entries.items()}
    ensembles = {name: entry["ensemble"] for name, entry in entries.items()}
    for name, entry in entries.items():
        _refuse_contradictions(name, entry, document)
    models = {name: _spec(name, entry, path.parent, document) for name, entry in entries.items()}
    for name, keys in implicit.items():
        if keys is not None:
            _refuse_half(name, keys, document)
            given = keys.reference
            reference = given and _reference_entry(name, given, models, path.parent, document)
            made = Implicit(reference or None, keys.beta or 1.0, keys.closing)
            models[name] = replace(models[name], implicit=made)
    for name, of in ensembles.items():
        if of is not None:
            models[name] = _ensemble(models[name], of, models, document)
    _refuse_two_defaults(models, document)
    own = {name: _rules(entry) for name, entry in entries.items()}
    policy = Policy(
        file=path.name,
        everywhere=_rules(file),
        models={name: rules for name, rules in own.items() if rules != Rules()},
        sources={name: spec.source for name, spec in models.items()},
        named=tuple(_audits_named(document)),
    )
    return models, policy, user_prompts_and_lists_yaml.words_of(file, document, path)


def _refuse_secrets(document: Document) -> None:
    """Raise if a URL is wrong or holds a password, or if `api_key` is no variable's name.

    This comes before any error quotes a value of the file.
    """
    for path, (_, node) in document.nodes.items():
        match path, node:
            case ("models", _, "source"), ScalarNode(value=str(source)):
                wrong = servers.source_problem(source)
            case ("models", _, *_, str(key)), ScalarNode(value=str(given)) if key in _PLACES:
                wrong = servers.secret_in(given)
                wrong = wrong and f"{wrong}; a folder, a file or a hub id is expected"
            case ("models", _, "api_key"), ScalarNode(value=str(given)):
                fine = re.fullmatch(servers.KEY_NAME, given)
                wrong = "" if fine else "expected the name of an environment variable, no key"
            case _:
                continue
        if wrong:
            raise YamlProblem(node, f"{label(path)}{wrong}")


_OF_POLICY = ("source", "revision", "template", "dtype")  # what an implicit reward takes from it


def _with_implicit_sources(document: Document) -> Document:
    """Return the document, with `implicit` entries given source and the like of their `policy`.

    That is the trained language model: a model of the file, or a hub id or folder. Keys that an
    entry has itself stay. The entries are changed in place.
    """
    nodes, models = dict(document.nodes), _entries_by_name(document.value)
    for name, entry in models.items():
        keys = entry.get("implicit") if isinstance(entry, dict) else None
        if not isinstance(keys, dict):
            continue
        here: strict_yaml.Path = ("models", name, "implicit")
        policy = keys.get("policy")
        if not isinstance(policy, str):
            raise document.problem(here, f"policy: expected {NAMED}", of_key=True)
        if "source" in entry:
            what = "`implicit` names its models itself, by `policy`; remove the line `source`"
            raise document.problem(("models", name, "source"), what, of_key=True)
        for key in ("policy", "reference"):
            # Of one that is implicit itself, the policy would be taken without beta and reference.
            given = keys.get(key)
            other = models.get(given) if isinstance(given, str) else None
            if isinstance(other, dict) and other.get("implicit") is not None:
                what = f"{given} is an implicit reward itself, and no language model"
                raise document.problem((*here, key), f"{what}; name its own policy")
        named = models.get(policy)
        if not isinstance(named, dict):
            named = {"source": policy}
        for key in _OF_POLICY:
            if named.get(key) is not None and key not in entry:
                entry[key] = named[key]
                at = nodes.get(("models", policy, key), nodes[*here, "policy"])
                nodes["models", name, key] = at
    return Document(document.value, nodes)


def _entries_by_name(value: Any) -> dict[str, Any]:  # noqa: ANN401  (whatever the file holds)
    """Return the value of `models` in a parsed models.yaml; {} if it is not a mapping."""
    models = value.get("models") if isinstance(value, dict) else None
    return models if isinstance(models, dict) else {}


def _refuse_half(name: str, keys: IMPLICIT, document: Document) -> None:
    """Raise if an implicit reward has only one of reference and beta, which go together."""
    allowed = {"reference": NAMED, "beta": "a number above 0, such as 0.1"}
    missing = [key for key in allowed if getattr(keys, key) is None]
    if len(missing) == 1:
        what = f"the key {missing[0]!r} is missing; expected {allowed[missing[0]]}"
        raise document.problem(("models", name, "implicit"), what)


def _reference_entry(
    name: str, given: str, models: Mapping[str, ModelSpec], folder: Path, document: Document
) -> ModelSpec:
    """Return the entry of the reference model `given`: one of `models`, or a new one; or raise."""
    if given in models:
        return models[given]
    local = is_folder(folder / given)
    if not local and not re.fullmatch(SOURCE, given):
        others = ", ".join(other for other in models if other != name)
        what = f"{short(given)} is no model of this file, no hub id and no folder; give "
        what += "the model that the policy was trained from, by its hub id (owner/name)"
        what += f", its folder, or its name in this file ({others})" if others else " or its folder"
        raise document.problem(("models", name, "implicit", "reference"), what)
    plain = local or given.startswith((".", "/", "~"))
    return ModelSpec(
        f"{name}'s reference", str((folder / expanded(given)).resolve()) if plain else given
    )


def _give_ensembles_sources(document: Document) -> None:
    """Give entries with an `ensemble` the source `ensemble+NAME+NAME`, of its members' names.

    The entries are changed in place.

    Raises:
        YamlProblem: a member is no model of the file, is named twice, or cannot be one.
    """
    models = _entries_by_name(document.value)
    for name, entry in models.items():
        keys = entry.get("ensemble") if isinstance(entry, dict) else None
        members = keys.get("members") if isinstance(keys, dict) else None
        if not isinstance(members, tuple) or not all(isinstance(each, str) for each in members):
            continue
        if "source" in entry:
            what = "`ensemble` names its models itself, by `members`; remove the line `source`"
            raise document.problem(("models", name, "source"), what, of_key=True)
        here: strict_yaml.Path = ("models", name, "ensemble", "members")
        for place, member in enumerate(members):
            if wrong := _no_member(member, models, members[:place]):
                raise document.problem((*here, place), wrong)
        if len(members) < 2:  # noqa: PLR2004  (a pair)
            raise document.problem(here, f"{len(members)} named; expected two or more models")
        entry["source"] = f"{servers.ENSEMBLE}+{'+'.join(members)}"


def _no_member(member: str, models: Mapping[str, Any], before: tuple[str, ...]) -> str:
    """Return why `member` cannot be one of an ensemble's, after those `before`; "" if it can."""
    other = models.get(member)
    if not isinstance(other, dict):
        known = ", ".join(models)
        return f"{short(member)} is no model of this file;{nearest(member, models)} known: {known}"
    if member in before:
        return f"{member} is named twice; a model counts once"
    if other.get("ensemble") is not None:
        return f"{member} is an ensemble itself; name its members"
    if other.get("implicit") is not None:
        return (
            f"{member} is an implicit reward, which is known only up to a number for each prompt, "
            f"so it cannot be standardised; leave it out"
        )
    return ""


def _ensemble(
    spec: ModelSpec, keys: ENSEMBLE, models: Mapping[str, ModelSpec], document: Document
) -> ModelSpec:
    """Return the entry of an ensemble with its members' entries.

    Of members that were trained on half of the reference words, it is judged by the other half.
    """
    members = tuple(models[member] for member in keys.members)
    if keys.k is not None and keys.rule != "mean-sd":
        what = f"it has no effect with the rule {keys.rule!r}; remove it, or write rule: mean-sd"
        raise document.problem(("models", spec.name, "ensemble", "k"), what, of_key=True)
    return replace(
        spec,
        ensemble=Ensemble(members, keys.rule, 1.0 if keys.k is None else keys.k),
        trained_on=spec.trained_on or next((m.trained_on for m in members if m.trained_on), None),
    )


def _spell_out_folders(value: Any, folder: Path) -> None:  # noqa: ANN401  (whatever the file holds)
    """Put ./ before sources that are folders beside models.yaml, so they are not taken for hub ids.

    A hub id at a commit stays one.
    """
    for entry in _entries_by_name(value).values():
        for key in _SOURCES:
            given = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(given, str) or given in ("", "embedded"):
                continue
            if pinned(given)[1] or (key == "source" and entry.get("revision")):
                continue
            if not given.startswith((".", "/", "~")) and is_folder(folder / given):
                entry[key] = f"./{given}"


def _spec(name: str, entry: Mapping[str, Any], folder: Path, document: Document) -> ModelSpec:
    keys: dict[str, Any] = {key: entry[key] for key in SPEC_KEYS if key in entry}
    keys["wanted"] = tuple(entry["wanted"].items())
    written: dict[str, strict_yaml.Path] = {}  # where a key stands that is not the entry's own
    if (judge := keys["judge"]) is not None:
        others = [(folder / expanded(file)).resolve() for file in judge.paraphrases]
        if missing := [path for path in others if not path.is_file()]:
            what = f"there is no file {missing[0]}"
            raise document.problem(("models", name, "judge", "paraphrases"), what)
        keys["judge"] = Judge(**{**dict(judge), "paraphrases": tuple(map(str, others))})
        keys["template"] = judge.template
        written["template"] = ("models", name, "judge", "template")
    for key in (*_SOURCES, *_FILES):
        given = keys[key]
        if given is None or (key not in _FILES and not given.startswith((".", "/", "~"))):
            continue
        at = document.nodes[written.get(key, ("models", name, key))][1]
        path = folder / expanded(given)
        try:
            path.stat()
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
                what = f"{short(given)} is no path: {error.strerror}"
                raise YamlProblem(at, f"{name}: {key}: {what}") from None
        if key in _FILES and not path.is_file():
            raise YamlProblem(at, f"{name}: {key}: there is no file {path.resolve()}")
        if key in _FILES or given.startswith("."):
            keys[key] = str(path.resolve())
    return ModelSpec(name, **keys)


def _rules(said: Mapping[str, Any]) -> Rules:
    return Rules(
        bounds={audit: (one.above, one.below) for audit, one in said["bounds"].items()},
        severity=said["severity"],
        known=said.get("known", {}),
        waivers={audit: Waiver(**dict(one)) for audit, one in said.get("waivers", {}).items()},
        weights=said.get("weights", ""),
    )


def _audits_named(document: Document) -> Iterator[NamedAudit]:
    """Yield every audit that the policy in models.yaml names, with its line."""
    for path, (at, _) in document.nodes.items():
        match path:
            case (str(key), str(audit)) | ("models", _, str(key), str(audit)) if key in POLICY_KEYS:
                yield NamedAudit(audit, label(path[:-1]), strict_yaml.line_of(at))


_OF_SERVERS = "it is for a model behind a server (source: vllm+http://host:8000)"


def _refuse_two_defaults(models: Mapping[str, ModelSpec], document: Document) -> None:
    defaults = [name for name, spec in models.items() if spec.default]
    if not models:
        raise YamlProblem(document.nodes["models",][0], "there is no model; write one or more")
    if len(defaults) > 1:
        what = f"a second 'default: true', after {defaults[0]}"
        raise document.problem(("models", defaults[1]), what, of_key=True)


def _refuse_contradictions(name: str, entry: Mapping[str, Any], document: Document) -> None:
    """Raise if a model's entry has keys that have no effect or contradict each other."""
    of_members = (*servers.WITHOUT, *servers.KEYS, "judge", "template")
    said = ((key, "each member's own entry says that; remove it here") for key in of_members)
    members = said if entry["ensemble"] is not None else ()
    for key, what in (*members, *_idle_keys(entry), *_unserved_keys(entry)):
        path: strict_yaml.Path = ("models", name, key)
        if path in document.nodes:  # it stands in the file
            raise document.problem(path, what, of_key=True)
    known = {audit.partition("[")[0] for audit in entry["known"]}
    for audit in entry["waivers"]:
        if audit.partition("[")[0] in known:
            path = ("models", name, "waivers", audit)
            raise document.problem(path, "it is in `known` too; keep one of them", of_key=True)


def _idle_keys(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each key that would have no effect in this entry, set or not, and the reason."""
    if not is_hub_id(entry["source"]):
        yield "revision", "only a hub id has revisions"
    kind = servers.kind_of(entry["source"])
    decides = "whoever started its server" if kind in servers.KINDS else f"the source {kind!r}"
    for key in servers.WITHOUT if kind else servers.KEYS:
        yield key, f"{decides} decides that" if kind else _OF_SERVERS
    if entry["judge"] is not None:
        yield "template", "a judge has its own: write it as judge: {template: FILE, ...}"
        for key in ("logit", "pool"):
            yield key, "a judge's reward is its verdict at the row's last id; remove one of them"
    for key in ("logit", "judge"):
        if entry["objective"] is not None and entry[key] is not None:
            yield "objective", f"it is an output of a head, and `{key}` says where the reward is"
    if not entry["waivers"] and not entry["known"]:
        yield "weights", "it says for which weights `waivers` hold, and there are none"
    if entry["source"] != "embedded":
        what = "it is for the bundled model (source: embedded); of any other, write "
        yield "known", what + f"`waivers`, each with {', '.join(WAIVER.model_fields)}"


def _unserved_keys(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield `source` if nothing opens it or it needs a `version`, `judge` if it cannot judge."""
    kind = servers.kind_of(entry["source"])
    if entry["ensemble"] is not None:
        return
    if kind and (wrong := servers.unknown_kind(kind)):
        yield "source", wrong
    if kind and kind not in servers.JUDGING:
        yield "judge", "this server gives rewards of its own; serve a judge with vLLM or SGLang"
    if kind in servers.SILENT and entry["version"] is None:
        what = "this server does not say what it serves, and scores of other weights would be read "
        yield "source", f'{what}back as its own; give `version`, such as "2026-11-20"'
