import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, ok, type Schemas } from "@/api/client";
import { useJobs, type JobSummary } from "@/api/jobs";
import { useProject } from "@/frame/ProjectPicker";
import { DataTable, type Column } from "@/parts/DataTable";
import { Found, Incomplete } from "@/parts/Found";
import { Duration } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { told, toldAll } from "@/texts/told";
import { inOrder } from "./order";

const EXPLAINED = 25;

type Why = Schemas["WhyOut"];

/** What waits, and why each does. */
export function Queue() {
  const { cluster: texts, messages } = useTexts();
  const project = useProject();
  const found = useJobs(["queued"]);
  const waiting = (found.data?.items ?? []).filter(
    (job) => project === undefined || job.project === project,
  );
  const explained = useWhy(waiting.slice(-EXPLAINED));
  const rows = inOrder(waiting, explained);
  const columns: Column<JobSummary>[] = [
    {
      id: "place",
      title: texts.place,
      isEnd: true,
      cell: (row) => rows.indexOf(row) + 1,
    },
    nameColumn(texts.job),
    { id: "project", title: texts.project, isWideOnly: true, cell: (row) => row.project },
    { id: "owner", title: texts.owner, isWideOnly: true, cell: (row) => row.owner },
    { id: "asks", title: texts.asks, cell: askedFor },
    {
      id: "priority",
      title: texts.priority,
      isEnd: true,
      isWideOnly: true,
      cell: (row) => row.priority,
    },
    {
      id: "ahead",
      title: texts.ahead,
      isEnd: true,
      isWideOnly: true,
      cell: (row) => {
        const why = explained.get(row.id);
        return why ? texts.aheadTold(why.num_ahead ?? 0, why.num_projects_ahead ?? 0) : "–";
      },
    },
    {
      id: "waits",
      title: texts.waits,
      isEnd: true,
      cell: (row) => <Duration from={row.created_at} />,
    },
    {
      id: "why",
      title: texts.why,
      isClipped: true,
      cell: (row) => {
        const why = explained.get(row.id);
        const shown = told(messages, row.said, row.reason.message);
        return (
          <span className="muted" title={why ? toldAll(messages, why.said, why.sentence) : shown}>
            {shown}
          </span>
        );
      },
    },
  ];
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.queue}</h2>
        <span className="muted small">{texts.queueText}</span>
      </div>
      <Incomplete rest={found.rest} count={found.data?.items.length ?? 0} />
      <Found of={found} lines={3}>
        {() =>
          rows.length ? (
            <DataTable
              label={texts.queue}
              rows={rows}
              columns={columns}
              rowId={(row) => row.id}
              maxHeight="26rem"
            />
          ) : (
            <p className="panel-body muted">{texts.queueEmpty}</p>
          )
        }
      </Found>
    </section>
  );
}

const HOLDING = ["starting", "running", "stopping"] as const;

/** Who uses what. */
export function Running() {
  const { cluster: texts } = useTexts();
  const project = useProject();
  const found = useJobs(HOLDING);
  const rows = (found.data?.items ?? []).filter(
    (job) => project === undefined || job.project === project,
  );
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.running}</h2>
      </div>
      <Incomplete rest={found.rest} count={found.data?.items.length ?? 0} />
      <Found of={found} lines={3}>
        {() =>
          rows.length ? (
            <DataTable
              label={texts.running}
              rows={rows}
              rowId={(row) => row.id}
              maxHeight="26rem"
              columns={[
                nameColumn(texts.job),
                {
                  id: "project",
                  title: texts.project,
                  isWideOnly: true,
                  cell: (row) => row.project,
                },
                { id: "owner", title: texts.owner, cell: (row) => row.owner },
                { id: "holds", title: texts.holds, cell: askedFor },
                {
                  id: "runs",
                  title: texts.runs,
                  isEnd: true,
                  cell: (row) => <Duration from={row.started_at} />,
                },
              ]}
            />
          ) : (
            <p className="panel-body muted">{texts.runningEmpty}</p>
          )
        }
      </Found>
    </section>
  );
}

function nameColumn(title: string): Column<JobSummary> {
  return {
    id: "name",
    title,
    isClipped: true,
    cell: (row) => (
      <Link className="row-name" to="/jobs/$id" params={{ id: row.id }} title={row.name}>
        {row.name}
      </Link>
    ),
  };
}

function askedFor(row: JobSummary): string {
  return row.on || `${String(row.nodes)}x ${row.device}`;
}

function useWhy(jobs: readonly JobSummary[]): ReadonlyMap<string, Why> {
  return useQueries({
    queries: jobs.map((job) => ({
      queryKey: ["why", job.id],
      queryFn: () => ok(api.GET("/api/v1/jobs/{job}/why", { params: { path: { job: job.id } } })),
      refetchInterval: 10_000,
    })),
    combine: (answers) =>
      new Map(answers.flatMap(({ data }) => (data ? [[data.job, data] as const] : []))),
  });
}
