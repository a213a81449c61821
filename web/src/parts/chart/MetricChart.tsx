import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { pointsQuery } from "@/api/runs";
import { Button } from "@/parts/Button";
import { Loading, Problem } from "@/parts/Empty";
import { useIsDark } from "@/parts/theme";
import { useTexts } from "@/texts/language";
import { Chart } from "./Chart";
import { ChartMenu } from "./ChartMenu";
import { wireName, type ChartGroup } from "./groups";
import { LargeChart } from "./LargeChart";
import type { ChartLine, Range } from "./lines";
import type { ChartedRun } from "./MetricCharts";
import { groupedLines, isLineOf, linesOf, ownAxis } from "./runLines";
import { useAgain, useSeen } from "./seen";
import { withYRange, yRangeOf, zoomOf, type ChartView } from "./view";

const POINTS_OF_ONE = 2000;
const POINTS_OF_MANY = 600;
const MOST_IN_LEGEND = 10;

/** One metric of some runs. Its points are fetched when it comes into sight. */
export function MetricChart(props: {
  group: ChartGroup;
  runs: readonly ChartedRun[];
  view: ChartView;
  /** Told how the view is to change; without it the chart stands alone, and zoom is its own. */
  onChange?: (change: (view: ChartView) => ChartView) => void;
  version: string | number | undefined;
  /** The run that the others are compared with. */
  baseline?: string;
  /** The use of the machine: its zoom is its own. */
  isSystem?: boolean;
}) {
  const { group, runs, view, onChange, isSystem = false } = props;
  const { axis = "step" } = view;
  const texts = useTexts();
  const isDark = useIsDark();
  const [ref, isSeen] = useSeen();
  const found = useQuery({
    ...pointsQuery({
      runs: runs.map((run) => run.id),
      series: group.series.map(wireName),
      axis,
      maxPoints: runs.length * group.series.length > 4 ? POINTS_OF_MANY : POINTS_OF_ONE,
      hidden: view.hidden,
    }),
    enabled: isSeen,
    placeholderData: keepPreviousData,
  });
  useAgain(isSeen ? props.version : undefined, () => void found.refetch());
  const lines = useMemo(() => {
    const all = found.data ? linesOf(found.data, runs, axis, isDark, texts) : [];
    return view.group === undefined ? all : groupedLines(all, runs, isDark);
  }, [found.data, runs, axis, isDark, texts, view.group]);
  const xLabel = axis === "own" ? ownAxis(found.data, texts.chart.step) : texts.chart[axis];
  const [isLarge, setIsLarge] = useState(false);
  const [low, high] = yRangeOf(view, group.title) ?? [];
  const yRange = useMemo(() => [low, high] as const, [low, high]);
  const shown = {
    label: group.title,
    lines,
    xKind: axis === "time" ? ("seconds" as const) : ("number" as const),
    xLabel,
    isLog: view.log,
    smoothing: view.smoothing,
    withoutOutliers: view.outliers,
    yRange,
    baseline: lines.find((line) => isLineOf(line, props.baseline ?? ""))?.id,
    ...(isSystem || !onChange
      ? {}
      : {
          zoom: zoomOf(view),
          onZoom: (range: Range | undefined) => {
            onChange((before) => ({ ...before, from: range?.[0], to: range?.[1] }));
          },
        }),
  };
  const isEmpty = found.data !== undefined && lines.every((line) => !line.x.length);
  return (
    <section className="panel chart-card" ref={ref} aria-label={group.title}>
      <div className="panel-head">
        <h3>{group.title}</h3>
        <Button
          kind="plain"
          isSmall
          icon="enlarge"
          label={texts.chart.enlarge(group.title)}
          onClick={() => {
            setIsLarge(true);
          }}
        />
        {onChange && (
          <ChartMenu
            title={group.title}
            pins={view.pins ?? []}
            lines={lines}
            xLabel={xLabel}
            canvas={() => ref.current?.querySelector("canvas") ?? undefined}
            onChange={onChange}
          />
        )}
      </div>
      <div className="panel-body">
        {found.error ? (
          <Problem error={found.error} onRetry={() => void found.refetch()} />
        ) : !found.data ? (
          <Loading lines={5} />
        ) : (
          <>
            {isEmpty && axis === "epoch" ? (
              <p className="muted small chart-note">{texts.chart.noEpochs}</p>
            ) : (
              <Chart {...shown} group={`runs-${axis}`} height={view.size === "large" ? 340 : 220} />
            )}
            {lines.length > 1 && lines.length <= MOST_IN_LEGEND && <Legend lines={lines} />}
          </>
        )}
      </div>
      {isLarge && (
        <LargeChart
          chart={shown}
          onRange={(range) => {
            if (range[0] !== low || range[1] !== high)
              onChange?.((before) => withYRange(before, group.title, range));
          }}
          onClose={() => {
            setIsLarge(false);
          }}
        />
      )}
    </section>
  );
}

export function Legend(props: { lines: readonly ChartLine[] }) {
  return (
    <div className="legend">
      {props.lines.map((line) => (
        <span key={line.id}>
          <span
            className={line.isDashed ? "swatch dashed" : "swatch"}
            style={line.isDashed ? { borderColor: line.color } : { background: line.color }}
          />
          {line.label}
        </span>
      ))}
    </div>
  );
}
