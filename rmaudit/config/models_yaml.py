"""Read models.yaml: its bytes become models and a policy, or a `YamlProblem` with its line.

pydantic takes a tenth of a second to import, so `registry` imports this module when it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from yaml import ScalarNode

from rmaudit.config import servers, strict_yaml, user_prompts_and_lists_yaml
from rmaudit.config.model_spec import ModelSpec, pinned
from rmaudit.config.models_yaml_entries import FILES, SOURCES, specs, spelled_out
from rmaudit.config.models_yaml_schema import FILE, POLICY_KEYS
from rmaudit.config.strict_yaml import Document, YamlProblem, label
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.config.yaml_errors import validated
from rmaudit.verdicts.verdict_policy import NamedAudit, Policy, Rules, Waiver

_PLACES = (*SOURCES, *FILES, "reference")  # keys whose value an error may quote


def read(raw: bytes, path: Path) -> tuple[dict[str, ModelSpec], Policy, OwnWords]:
    """Parse models.yaml into models by name, the policy for verdicts, and the user's own words.

    Raises:
        YamlProblem: the file has an error.
    """
    document = strict_yaml.read(raw)
    _refuse_secrets(document)
    _spell_out_folders(document.value, path.parent)
    file = validated(document, FILE)
    entries = {name: dict(entry) for name, entry in file["models"].items()}
    models = specs(entries, document, path.parent)
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


def _spell_out_folders(value: Any, folder: Path) -> None:  # noqa: ANN401  (whatever the file holds)
    """Put ./ before sources that are folders beside models.yaml, so they are not taken for hub ids.

    A hub id at a commit stays one.
    """
    models = value.get("models") if isinstance(value, dict) else None
    for entry in models.values() if isinstance(models, dict) else ():
        for key in SOURCES:
            given = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(given, str) or given in ("", "embedded"):
                continue
            if not (pinned(given)[1] or (key == "source" and entry.get("revision"))):
                entry[key] = spelled_out(given, folder)


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
