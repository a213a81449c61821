import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import type { Job } from "@/api/jobs";
import { useRuns } from "@/api/runs";
import { buttonClass } from "@/parts/Button";
import { Loading } from "@/parts/Empty";
import { Icon } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import { headline } from "./headline";

const MetricChart = lazy(async () => ({
  default: (await import("@/parts/chart/MetricChart")).MetricChart,
}));
const MOST_RUNS = 10;
const VIEW = {};

/** The curve that says first how training goes. Left out while the job has logged nothing. */
export function FirstCurve(props: { job: Job }) {
  const { job } = props;
  const { job: texts } = useTexts();
  const found = useRuns({ job: job.id });
  const runs = useMemo(() => (found.data?.items ?? []).slice(0, MOST_RUNS), [found.data]);
  const metrics = useMemo(() => runs.flatMap((run) => run.metrics ?? []), [runs]);
  const series = useMemo(() => headline(metrics), [metrics]);
  const group = useMemo(
    () => series && { title: `${series.type}/${series.name}`, series: [series] },
    [series],
  );
  if (!group) return null;
  return (
    <div>
      <Suspense fallback={<Loading />}>
        <MetricChart
          group={group}
          runs={runs}
          view={VIEW}
          version={metrics.reduce((sum, metric) => sum + metric.num_points, 0)}
        />
      </Suspense>
      <Link
        to="/jobs/$id/metrics"
        params={{ id: job.id }}
        className={buttonClass("plain", { isSmall: true })}
      >
        <Icon name="chart" />
        {texts.allMetrics}
      </Link>
    </div>
  );
}
