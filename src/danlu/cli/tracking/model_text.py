"""Models and their versions as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from danlu.wire.models import ModelComparison, ModelOut, ModelVersionOut


def version_text(one: ModelVersionOut) -> str:
    """A version as text."""
    from danlu.cli.output import age, facts
    from danlu.spec.units import show_size

    files = f"{one.num_files} file{'' if one.num_files == 1 else 's'}, {show_size(one.size)}"
    where = one.path if one.path is not None else f"those of {one.source}"
    values = {
        "aliases": ", ".join(one.aliases),
        "about": " ".join(one.description.split()),
        "from": f"{one.source_name} ({one.source})" if one.source_name not in ("", one.source) else one.source,
        "files": f"{files}, {'a copy' if one.is_copied else 'not copied'}: {where}",
        "format": one.format,
        "framework": one.framework,
        "image": one.environment.image or "",
        "command": one.environment.command or "",
        "env": " ".join(f"{name}={value}" for name, value in one.environment.env.items()),
        "metrics": metrics_text(one, None),
        "run": one.run or "",
        "hparams": ", ".join(f"{name}={value}" for name, value in one.hparams.items()),
        "tags": ", ".join(f"{name}={value}" for name, value in one.tags.items()),
        "by": f"{one.owner}, {one.created_at:%Y-%m-%d %H:%M:%S} UTC ({age(one.created_at)} ago)",
    }
    shown = {name: " ".join(str(value).split()) for name, value in values.items() if value != "-"}
    title = f"{one.model}:{one.version}  in {one.project}  {one.id}"
    return f"{facts(title, shown)}\n\nlineage: danlu flow {one.id} --up"


def model_text(one: ModelOut) -> str:
    from danlu.cli.output import facts

    aliases = ", ".join(f"{alias}={version}" for alias, version in one.aliases.items())
    values = {
        "about": " ".join(one.description.split()),
        "versions": str(one.num_versions),
        "aliases": aliases,
        "tags": ", ".join(f"{name}={value}" for name, value in one.tags.items()),
    }
    return facts(f"{one.name}  in {one.project}", values)


def comparison_text(found: ModelComparison, *, is_all: bool) -> str:
    """Versions as columns."""
    from danlu.cli.output import bold, table

    heads = [f"{one.model}:{one.version}" for one in found.versions]
    parts = []
    for title, rows in (("METRICS", found.metrics), ("HYPERPARAMETERS", found.hparams), ("FACTS", found.facts)):
        shown = [row for row in rows if is_all or not row.is_same]
        num_same = len(rows) - len(shown)
        if shown:
            parts.append(table((title, *heads), [(row.name, *map(_value, row.values)) for row in shown]))
        if num_same:
            parts.append(f"{title.lower()}: {num_same} {'is' if num_same == 1 else 'are'} equal (--all)")
    return "\n\n".join(parts) if parts else bold("nothing to compare")


def metrics_text(one: ModelVersionOut, most: Optional[int]) -> str:
    """Metrics by name, up to a number of them."""
    shown = [f"{name}={_value(value)}" for name, value in sorted(one.metrics.items())]
    rest = "" if most is None or len(shown) <= most else f", … {len(shown) - most} more"
    return (", ".join(shown[:most]) + rest) or "-"


def _value(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
