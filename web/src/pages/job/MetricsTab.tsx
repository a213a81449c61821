import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRuns, type RunSummary } from "@/api/runs";
import { SYSTEM } from "@/parts/chart/groups";
import { MetricCharts } from "@/parts/chart/MetricCharts";
import { Code } from "@/parts/Code";
import { Empty, Loading, Notice, Problem } from "@/parts/Empty";
import { Incomplete } from "@/parts/Found";
import { LOG_METRICS } from "@/parts/snippets";
import { useTexts } from "@/texts/language";
import { useLoadedJob } from "./loaded";

const MOST_RUNS = 50;

/** The metrics of the runs that the job has made. */
export function MetricsTab() {
  const job = useLoadedJob();
  const { job: texts, common } = useTexts();
  const view = useSearch({ from: "/inside/jobs/$id/metrics" });
  const navigate = useNavigate({ from: "/jobs/$id/metrics" });
  const found = useRuns({ job: job.id });
  const runs = useMemo(() => (found.data?.items ?? []).slice(0, MOST_RUNS), [found.data]);
  const series = useMemo(() => seriesOf(runs), [runs]);
  if (found.error) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Loading />;
  if (!series.length) {
    return (
      <div className="panel">
        <Empty icon="chart" title={texts.noMetricsTitle}>
          <p>{texts.noMetrics}</p>
          <Code text={LOG_METRICS} />
        </Empty>
      </div>
    );
  }
  const numPoints = runs
    .flatMap((run) => run.metrics ?? [])
    .reduce((sum, metric) => sum + metric.num_points, 0);
  return (
    <>
      <Incomplete rest={found.rest} count={found.data.items.length} />
      {found.data.items.length > MOST_RUNS && <Notice>{common.newestOnly(MOST_RUNS)}</Notice>}
      <div className="toolbar">
        {runs.slice(0, 5).map((run) => (
          <Link key={run.id} to="/experiments/$id" params={{ id: run.id }}>
            {texts.openRun} {runs.length > 1 ? run.name : ""}
          </Link>
        ))}
      </div>
      <MetricCharts
        runs={runs}
        series={series}
        view={view}
        onView={(next) => void navigate({ search: () => next, replace: true })}
        version={numPoints}
        hasBranches={job.attempt > 1}
      />
    </>
  );
}

function seriesOf(runs: readonly RunSummary[]) {
  const found = new Map<string, { type: string; name: string }>();
  for (const { type, name } of runs.flatMap((run) => run.metrics ?? [])) {
    if (type !== SYSTEM) found.set(`${type}/${name}`, { type, name });
  }
  return [...found.values()];
}
