import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { pointsQuery, type Axis, type SeriesPoints } from "@/api/runs";
import { Button } from "@/parts/Button";
import { Loading, Problem } from "@/parts/Empty";
import { naturally } from "@/parts/order";
import { useIsDark } from "@/parts/theme";
import { useTexts, type Texts } from "@/texts/language";
import { bandOf } from "./bands";
import { Chart } from "./Chart";
import { colorOf } from "./colors";
import { wireName, type ChartGroup } from "./groups";
import { LargeChart } from "./LargeChart";
import type { ChartLine } from "./lines";
import type { ChartedRun } from "./MetricCharts";
import type { ChartView } from "./view";

const POINTS_OF_ONE = 2000;
const POINTS_OF_MANY = 600;
const AGAIN_MS = 2_000;
const MOST_IN_LEGEND = 10;

/** One metric of some runs. Its points are fetched when it comes into sight. */
export function MetricChart(props: {
  group: ChartGroup;
  runs: readonly ChartedRun[];
  view: ChartView;
  version: string | number | undefined;
}) {
  const { group, runs, view } = props;
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
  const [isLarge, setIsLarge] = useState(false);
  const shown = {
    label: group.title,
    lines,
    xKind: axis === "time" ? ("seconds" as const) : ("number" as const),
    xLabel: texts.chart[axis],
    isLog: view.log,
    smoothing: view.smoothing,
    withoutOutliers: view.outliers,
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
              <Chart {...shown} group={`runs-${axis}`} />
            )}
            {lines.length > 1 && lines.length <= MOST_IN_LEGEND && <Legend lines={lines} />}
          </>
        )}
      </div>
      {isLarge && (
        <LargeChart
          chart={shown}
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

/** Lines of one run differ by type; lines of several by run. */
function linesOf(
  points: readonly SeriesPoints[],
  runs: readonly ChartedRun[],
  axis: Axis,
  isDark: boolean,
  { chart }: Texts,
): ChartLine[] {
  const isOne = runs.length === 1;
  const lines: ChartLine[] = [];
  for (const [index, series] of points.entries()) {
    const place = runs.findIndex((run) => run.id === series.run);
    const run = runs[place];
    if (!run) continue;
    const color = isOne ? colorOf(index, isDark) : (run.color ?? colorOf(place, isDark));
    const label = isOne ? series.type || series.name : run.name;
    const origin = new Date(run.started_at).getTime() / 1000;
    const id = `${series.run} ${wireName(series)}`;
    for (const hidden of series.hidden ?? [])
      lines.push({
        id: `${id} ${String(hidden.branch)}`,
        label: `${label} (${chart.superseded(hidden.branch)})`,
        color,
        x: placesOf(hidden, axis, origin),
        y: hidden.value,
        isDashed: true,
      });
    lines.push({ id, label, color, x: placesOf(series, axis, origin), y: series.value });
  }
  return lines;
}

/** One line and its band for each group of runs. */
function groupedLines(
  lines: readonly ChartLine[],
  runs: readonly ChartedRun[],
  isDark: boolean,
): ChartLine[] {
  const groupOf = new Map(runs.map((run) => [run.id, run.group ?? ""]));
  const found = new Map<string, ChartLine[]>();
  for (const line of lines) {
    if (line.isDashed) continue;
    const name = groupOf.get(line.id.slice(0, line.id.indexOf(" "))) ?? "";
    found.set(name, [...(found.get(name) ?? []), line]);
  }
  const names = [...found.keys()].sort(naturally);
  return names.map((name, index) => {
    const members = found.get(name) ?? [];
    const label = `${name} (${String(members.length)})`;
    return bandOf(members, { id: name, label, color: colorOf(index, isDark) });
  });
}

type Columns = Pick<SeriesPoints, "step" | "epoch" | "time">;

function placesOf(columns: Columns, axis: Axis, origin: number): number[] {
  if (axis === "step") return columns.step;
  if (axis === "epoch") return columns.epoch.map((value) => value ?? 0);
  return columns.time.map((value) => value - origin);
}

/** Whether something is in sight or was; what has been drawn stays. */
function useSeen() {
  const ref = useRef<HTMLElement>(null);
  const [isSeen, setIsSeen] = useState(false);
  useEffect(() => {
    if (!ref.current || isSeen) return undefined;
    const watcher = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setIsSeen(true);
      },
      { rootMargin: "200px" },
    );
    watcher.observe(ref.current);
    return () => {
      watcher.disconnect();
    };
  }, [isSeen]);
  return [ref, isSeen] as const;
}

/** Does something again when a version changes, with a pause between, and surely after the last change. */
function useAgain(version: string | number | undefined, action: () => void): void {
  const act = useEffectEvent(action);
  const known = useRef(version);
  const lastAt = useRef(0);
  useEffect(() => {
    const before = known.current;
    known.current = version;
    if (version === undefined || before === undefined || before === version) return undefined;
    const timer = setTimeout(
      () => {
        lastAt.current = Date.now();
        act();
      },
      Math.max(0, AGAIN_MS - (Date.now() - lastAt.current)),
    );
    return () => {
      clearTimeout(timer);
    };
  }, [version]);
}
