import { Link } from "@tanstack/react-router";
import type { RunSummary } from "@/api/runs";
import type { Column } from "@/parts/DataTable";
import { differenceOf } from "@/parts/difference";
import { showNumber, showValue } from "@/parts/numbers";
import { RunBadge } from "@/parts/RunBadge";
import { Ago, Duration } from "@/parts/time";
import type { Texts } from "@/texts/language";
import { differing, keysOf, shortKey, valueOf, type ValueKey } from "./values";

const LOOKED_AT = 200;

/** Fields that every run has. */
export function ownColumns({ runs: texts }: Texts): Column<RunSummary>[] {
  return [
    {
      id: "name",
      title: texts.name,
      isClipped: true,
      sort: (row) => row.name,
      cell: (row) => (
        <Link className="row-name" to="/experiments/$id" params={{ id: row.id }} title={row.name}>
          {row.name}
        </Link>
      ),
    },
    {
      id: "state",
      title: texts.state,
      sort: (row) => row.state,
      cell: (row) => <RunBadge state={row.state} />,
    },
    { id: "id", title: texts.id, text: (row) => row.id, cell: (row) => <code>{row.id}</code> },
    {
      id: "folder",
      title: texts.folder,
      isClipped: true,
      sort: (row) => row.folder,
      cell: (row) => <span title={row.folder}>{row.folder || "–"}</span>,
    },
    { id: "project", title: texts.project, sort: (row) => row.project, cell: (row) => row.project },
    { id: "owner", title: texts.owner, sort: (row) => row.owner, cell: (row) => row.owner },
    {
      id: "labels",
      title: texts.labels,
      isClipped: true,
      text: (row) => (row.labels ?? []).join(" "),
      cell: (row) =>
        (row.labels ?? []).map((label) => (
          <span key={label} className="tag">
            {label}
          </span>
        )),
    },
    {
      id: "job",
      title: texts.job,
      sort: (row) => row.job,
      cell: (row) =>
        row.job ? (
          <Link to="/jobs/$id" params={{ id: row.job }}>
            {row.job}
          </Link>
        ) : (
          "–"
        ),
    },
    {
      id: "step",
      title: texts.step,
      isEnd: true,
      sort: (row) => row.step,
      cell: (row) => showNumber(row.step),
    },
    {
      id: "epoch",
      title: texts.epoch,
      isEnd: true,
      sort: (row) => row.epoch,
      cell: (row) => showNumber(row.epoch),
    },
    {
      id: "progress",
      title: texts.progress,
      isEnd: true,
      sort: (row) => row.progress,
      cell: (row) => (row.progress == null ? "–" : `${String(Math.round(row.progress * 100))} %`),
    },
    {
      id: "points",
      title: texts.points,
      isEnd: true,
      sort: (row) => row.num_points,
      cell: (row) => row.num_points,
    },
    {
      id: "created",
      title: texts.created,
      isWideOnly: true,
      sort: (row) => row.created_at,
      cell: (row) => <Ago at={row.created_at} />,
    },
    {
      id: "duration",
      title: texts.duration,
      isEnd: true,
      isWideOnly: true,
      sort: (row) =>
        (new Date(row.ended_at ?? Date.now()).getTime() - new Date(row.started_at).getTime()) /
        1000,
      cell: (row) => <Duration from={row.started_at} to={row.ended_at} />,
    },
  ];
}

/** A hyperparameter, a metric or a value of the summary. */
export function valueColumn(key: ValueKey, baseline?: RunSummary): Column<RunSummary> {
  return {
    id: key,
    title: shortKey(key),
    isEnd: true,
    isClipped: true,
    sort: (row) => {
      const value = valueOf(row, key);
      if (typeof value === "number") return Number.isFinite(value) ? value : null;
      if (typeof value === "string") return value;
      return value === undefined || value === null ? null : showValue(value);
    },
    cell: (row) => {
      const value = valueOf(row, key);
      const shown = value === null ? "–" : showValue(value);
      const difference =
        baseline && baseline.id !== row.id && key.includes("metrics.")
          ? differenceOf(value, valueOf(baseline, key))
          : undefined;
      return (
        <span title={shown.length > 12 ? shown : undefined}>
          {shown}
          {difference !== undefined && <span className="muted small"> {difference}</span>}
        </span>
      );
    },
  };
}

/** Without a choice: the run, what the newest ones were measured by, and in what they differ. */
export function usualColumns(runs: readonly RunSummary[]): string[] {
  const some = runs.slice(0, LOOKED_AT);
  const keys = keysOf(some);
  const metrics = [
    ...keys.metrics.filter((key) => /^metrics\.(val|test)\./.test(key)),
    ...keys.metrics.filter((key) => !/^metrics\.(val|test)\./.test(key)),
  ];
  const hparams = differing(some, keys.hparams);
  return ["name", "state", ...metrics.slice(0, 3), ...hparams.slice(0, 4), "created", "duration"];
}
