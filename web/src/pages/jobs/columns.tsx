import { Link } from "@tanstack/react-router";
import type { JobSummary } from "@/api/jobs";
import type { Column } from "@/parts/DataTable";
import { Cost, costAt } from "@/parts/money";
import { Reason } from "@/parts/Reason";
import { Star } from "@/parts/Star";
import { StateBadge } from "@/parts/StateBadge";
import { Ago, Duration } from "@/parts/time";
import type { Texts } from "@/texts/language";

export const SHOWN_AT_FIRST = ["name", "state", "why", "on", "owner", "created", "duration"];

export function jobColumns({ jobs: texts, job, flavors }: Texts): Column<JobSummary>[] {
  return [
    {
      id: "name",
      title: texts.name,
      isClipped: true,
      sort: (row) => row.name,
      cell: (row) => (
        <>
          <Star job={row.id} name={row.name} />
          <Link className="row-name" to="/jobs/$id" params={{ id: row.id }} title={row.name}>
            {row.name}
          </Link>
        </>
      ),
    },
    {
      id: "state",
      title: texts.state,
      sort: (row) => row.state,
      cell: (row) => <StateBadge state={row.state} />,
    },
    {
      id: "why",
      title: job.why,
      isClipped: true,
      isWideOnly: true,
      cell: (row) => (
        <span className="muted">
          <Reason of={row} />
        </span>
      ),
    },
    { id: "id", title: texts.id, sort: (row) => row.id, cell: (row) => <code>{row.id}</code> },
    { id: "project", title: texts.project, sort: (row) => row.project, cell: (row) => row.project },
    {
      id: "on",
      title: texts.on,
      isWideOnly: true,
      sort: (row) => row.nodes,
      cell: (row) => row.on || `${String(row.nodes)}x ${row.device}`,
    },
    {
      id: "owner",
      title: texts.owner,
      isWideOnly: true,
      sort: (row) => row.owner,
      cell: (row) => row.owner,
    },
    { id: "launch", title: texts.launch, sort: (row) => row.launch, cell: (row) => row.launch },
    {
      id: "attempt",
      title: texts.attempt,
      isEnd: true,
      sort: (row) => row.attempt,
      cell: (row) => row.attempt,
    },
    {
      id: "priority",
      title: texts.priority,
      isEnd: true,
      sort: (row) => row.priority,
      cell: (row) => row.priority,
    },
    {
      id: "tags",
      title: texts.tags,
      isClipped: true,
      cell: (row) =>
        Object.entries(row.tags).map(([key, value]) => (
          <span key={key} className="tag">
            {key}={value}
          </span>
        )),
    },
    {
      id: "created",
      title: texts.created,
      sort: (row) => row.id, // ids are in the order of their making
      cell: (row) => <Ago at={row.created_at} />,
    },
    {
      id: "started",
      title: texts.started,
      sort: (row) => row.started_at,
      cell: (row) => <Ago at={row.started_at} />,
    },
    {
      id: "ended",
      title: texts.ended,
      sort: (row) => row.ended_at,
      cell: (row) => <Ago at={row.ended_at} />,
    },
    {
      id: "duration",
      title: texts.duration,
      isEnd: true,
      isWideOnly: true,
      sort: (row) => lasted(row),
      cell: (row) => <Duration from={row.started_at} to={row.ended_at} />,
    },
    {
      id: "cost",
      title: flavors.cost,
      isEnd: true,
      sort: (row) => costAt(row, Date.now()),
      cell: (row) => <Cost of={row} />,
    },
  ];
}

function lasted(row: JobSummary): number | null {
  if (!row.started_at) return null;
  const end = row.ended_at ? new Date(row.ended_at).getTime() : Date.now();
  return end - new Date(row.started_at).getTime();
}
