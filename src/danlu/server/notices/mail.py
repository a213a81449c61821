"""An event as an e-mail, in the language of the server. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from danlu.spec.messages.catalogue import sentence_in
from danlu.spec.messages.languages import TAGS, Language, word
from danlu.spec.messages.site_texts import MAIL
from danlu.spec.messages.words_zh import WORDS
from danlu.spec.monitoring.alerts import AlertKind
from danlu.spec.monitoring.events import EventKind
from danlu.store.sql.run_tables import RunRow
from danlu.store.sql.tables import JobRow


@dataclass(frozen=True, slots=True)
class Told:
    """An event."""

    kind: EventKind
    job: JobRow | None
    """None: it is about the platform, and for admins."""

    message: str
    alert_kind: AlertKind | None = None
    run: RunRow | None = None
    """The run whose script sent it; its owner is notified, whether there is a job or not."""

    details: Mapping[str, Any] = field(default_factory=dict)


def mail_of(told: Told, *, to: str, base_url: str, language: Language) -> dict[str, str]:
    """Recipient, subject, text, and the tag of their language."""

    def line(code: str, **values: str) -> str:
        return word(MAIL, code, language=language).format(**values)

    about = told.run.name if told.run is not None else line("platform") if told.job is None else told.job.name
    # what a script said stays as it is, however much it reads like ours
    message = told.message if told.run is not None else sentence_in(told.message, language)
    lines = [message]
    if told.run is not None:
        lines += ["", line("run", name=told.run.name, id=told.run.id), f"{base_url}/experiments/{told.run.id}"]
    if told.job is not None:
        job = told.job
        lines += ["", line("job", name=job.name, id=job.id), line("state", state=_state(job.state, language))]
        lines += [f"{base_url}/jobs/{job.id}"]
    lines += ["", line("wishes", url=f"{base_url}/profile")]
    subject = f"[Danlu] {line(told.kind.value, name=about)}"
    return {"to": to, "subject": subject, "text": "\n".join(lines) + "\n", "language": TAGS[language]}


def _state(state: str, language: Language) -> str:
    return WORDS["state"].get(state, state) if language == "zh" else state
