"""The rules of the catalog: every user sees flavors and frameworks, admins change them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import AlreadyExists, InvalidInput, NotFound
from danlu.server.audit.service import record_action
from danlu.server.invalid import bad_spec
from danlu.server.paging import bad_cursor
from danlu.spec.audit import Action
from danlu.spec.flavors import Flavor
from danlu.spec.frameworks import Framework
from danlu.spec.job import JobSpec
from danlu.spec.names import check_flavor_name
from danlu.spec.sentences import field_errors, suggestion
from danlu.spec.terms import Terms, flavors_in, settle
from danlu.store.queries import catalog

T = TypeVar("T", Flavor, Framework)
MAX_SUGGESTED = 20


class _Kind(NamedTuple):
    noun: str
    make: Action
    change: Action
    delete: Action


_KINDS: dict[type, _Kind] = {
    Flavor: _Kind("flavor", Action.FLAVOR_MAKE, Action.FLAVOR_CHANGE, Action.FLAVOR_DELETE),
    Framework: _Kind("framework", Action.FRAMEWORK_MAKE, Action.FRAMEWORK_CHANGE, Action.FRAMEWORK_DELETE),
}


def find(session: Session, of: type[T], name: str) -> T:
    noun = _KINDS[of].noun
    found = catalog.get(session, of, name) if _is_name(name) else None
    if found is None:
        raise NotFound(f"no {noun} {name[:80]!r}; `danlu {noun}s` lists them")
    return found


def listed(session: Session, of: type[T], cursor: str | None, *, limit: int) -> list[T]:
    """By name, those after the cursor."""
    return catalog.listed(session, of, after=place(cursor), limit=limit)


def make(session: Session, who: UserIdentity, thing: Flavor | Framework, now: datetime) -> None:
    kind = _KINDS[type(thing)]
    check_admin(who, kind.noun)
    if catalog.has(session, thing):
        told = f"there is a {kind.noun} {thing.name!r} already; change that one, or choose another name"
        raise AlreadyExists(told, fields={"name": told})
    catalog.put(session, thing, now)
    _record(session, who, kind.make, thing, now, thing.model_dump(mode="json", exclude_defaults=True, exclude={"name"}))


def change(session: Session, who: UserIdentity, of: type[T], name: str, body: BaseModel, now: datetime) -> T:
    """Change the fields in the body. An empty value clears an optional field."""
    check_admin(who, _KINDS[of].noun)
    before = find(session, of, name)
    given = body.model_dump(mode="json", exclude_none=True)
    emptied = {key: None for key in ("cpus", "memory", "image", "setup") if given.get(key) in (0, "")}
    after = _checked(of, {**before.model_dump(mode="json"), **given, **emptied})
    if after != before:
        catalog.put(session, after, now)
        _record(session, who, _KINDS[of].change, after, now, {**given, **emptied})
    return after


def delete(session: Session, who: UserIdentity, of: type[T], name: str, now: datetime) -> None:
    """Delete it. Jobs that use it keep their stored copy."""
    check_admin(who, _KINDS[of].noun)
    found = find(session, of, name)
    catalog.delete(session, found)
    _record(session, who, _KINDS[of].delete, found, now, {})


def place(cursor: str | None) -> str:
    """The name after which a list continues."""
    if cursor is not None and not _is_name(cursor):
        raise bad_cursor(cursor)
    return cursor or ""


def check_admin(who: UserIdentity, noun: str) -> None:
    rights.check_admin(who, f"{noun}s may be changed by admins only; ask one")


def settled(session: Session, spec: JobSpec, currency: str) -> tuple[JobSpec, Terms | None]:
    """The job with its flavors and framework resolved. Raise InvalidSpec for a name that is unknown or disabled."""
    flavors = {name: _named(session, Flavor, place, name) for place, name in flavors_in(spec).items()}
    framework = None if spec.framework is None else _named(session, Framework, "framework", spec.framework)
    return settle(spec, flavors, framework, currency)


def _named(session: Session, of: type[T], place: str, name: str) -> T:
    found, noun = catalog.get(session, of, name), _KINDS[of].noun
    if found is not None and found.is_enabled:
        return found
    others = catalog.names(session, of)
    near = suggestion(name, others) or f"; this server has no {noun}s"
    if len(others) > MAX_SUGGESTED and "did you mean" not in near:
        near = f"; `danlu {noun}s` lists them"
    told = f"{noun} {name!r} is disabled" if found is not None else f"there is no {noun} {name!r}"
    raise bad_spec(place, f"{told}{near}")


def _is_name(name: str) -> bool:
    try:
        check_flavor_name(name)
    except ValueError:
        return False
    return True


def _checked(of: type[T], values: dict[str, Any]) -> T:
    try:
        return of.model_validate(values)
    except ValidationError as error:
        fields = field_errors(error.errors(include_url=False), {"": of.model_fields}, noun=f"a {_KINDS[of].noun}")
        told = "; ".join(f"{place}: {problem}" for place, problem in fields.items())
        raise InvalidInput(told, fields=fields) from error


def _record(
    session: Session,
    who: UserIdentity,
    action: Action,
    thing: Flavor | Framework,
    now: datetime,
    values: dict[str, Any],
) -> None:
    """Record a change, with long values shortened. Of a script only its length: it may contain secrets."""
    details = {
        key: value if isinstance(value, (str, int, bool)) and len(str(value)) <= 200 else _brief(value)
        for key, value in values.items()
        if key != "setup"
    }
    if "setup" in values:
        details["setup_chars"] = len(values["setup"] or "")
    record_action(session, who, action, f"{_KINDS[type(thing)].noun}/{thing.name}", at=now, project_id=None, **details)


def _brief(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(sorted(value))[:200]  # names only: values of variables may be secret
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))[:200]
    return str(value)[:200] if isinstance(value, (float, str)) else "none"
