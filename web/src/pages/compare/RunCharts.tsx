import { useMemo } from "react";
import { MetricCharts } from "@/parts/chart/MetricCharts";
import { SYSTEM } from "@/parts/chart/groups";
import type { ChartView } from "@/parts/chart/view";
import { showValue } from "@/parts/numbers";
import { differing, keysOf, shortKey, valuesOf } from "../experiments/values";
import type { ComparedRun } from "./ComparePage";

/** Charts of several runs, one line for each or one for each group of them; live. */
export function RunCharts(props: {
  runs: readonly ComparedRun[];
  view: ChartView;
  onView: (view: ChartView) => void;
  baseline: string | undefined;
}) {
  const { runs, view } = props;
  const { group } = view;
  const groupKeys = useMemo(() => {
    const keys = keysOf(runs).hparams;
    const first = new Set(differing(runs, keys));
    return [...first, ...keys.filter((key) => !first.has(key))];
  }, [runs]);
  const charted = useMemo(
    () =>
      group === undefined
        ? runs
        : runs.map((run) => ({
            ...run,
            together: `${shortKey(group)}=${showValue(valuesOf(run)[group])}`,
          })),
    [runs, group],
  );
  const series = useMemo(
    () => runs.flatMap((run) => (run.metrics ?? []).filter((metric) => metric.type !== SYSTEM)),
    [runs],
  );
  return (
    <MetricCharts
      runs={charted}
      series={series}
      groupKeys={groupKeys}
      view={view}
      onView={props.onView}
      version={runs.reduce((sum, run) => sum + run.num_points, 0)}
      baseline={props.baseline}
      isComparing
    />
  );
}
