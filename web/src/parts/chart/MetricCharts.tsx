import { useMemo, useState, type ReactNode } from "react";
import type { RunSummary } from "@/api/runs";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Empty } from "@/parts/Empty";
import { CheckField, SearchField, Segments } from "@/parts/Field";
import { LOG_METRICS } from "@/parts/snippets";
import { useTexts } from "@/texts/language";
import { groupSeries, sectionsOf, type SeriesKey } from "./groups";
import { MetricChart } from "./MetricChart";
import type { ChartView } from "./view";

const SHOWN_AT_FIRST = 24;
export type ChartedRun = Pick<RunSummary, "id" | "name" | "started_at"> & {
  color?: string;
  /** The runs that it is put together with, as people read it; undefined where runs are not grouped. */
  group?: string;
};

export type MetricChartsProps = {
  /** One run, or those that are compared. */
  runs: readonly ChartedRun[];
  /** What there is to show; one chart per metric. */
  series: readonly SeriesKey[];
  view: ChartView;
  onView: (view: ChartView) => void;
  /** Changes when there is more to show: points are fetched again then, at most every two seconds. */
  version?: string | number;
  /** Whether attempts can have superseded each other: then they can be shown. */
  hasBranches?: boolean;
  /** What the runs can be put together by. */
  groupKeys?: readonly string[];
  /** The use of the machine: by time only. */
  isSystem?: boolean;
};

/** Charts of all metrics of some runs, with what one needs to look at them. */
export function MetricCharts(props: MetricChartsProps) {
  const { chart: texts } = useTexts();
  const { view, onView, runs, isSystem = false } = props;
  const [words, setWords] = useState("");
  const [most, setMost] = useState(SHOWN_AT_FIRST);
  const groups = useMemo(
    () => groupSeries(props.series, runs.length === 1),
    [props.series, runs.length],
  );
  const wanted = words.trim().toLowerCase();
  const found = groups.filter(
    (group) =>
      group.title.toLowerCase().includes(wanted) ||
      group.series.some((key) => key.type.toLowerCase().includes(wanted)),
  );
  if (!groups.length)
    return (
      <div className="panel">
        <Empty icon="chart" title={texts.none}>
          <p>{texts.noneText}</p>
          <Code text={LOG_METRICS} />
        </Empty>
      </div>
    );
  const smoothing = Math.min(0.99, Math.max(0, view.smoothing ?? 0));
  return (
    <>
      <div className="toolbar chart-tools">
        {groups.length > 4 && (
          <SearchField
            label={texts.find}
            value={words}
            onChange={(event) => {
              setWords(event.target.value);
            }}
          />
        )}
        {!isSystem && (
          <Segments
            label={texts.axis}
            value={view.axis ?? "step"}
            choices={[
              ["step", texts.step],
              ["epoch", texts.epoch],
              ["time", texts.time],
            ]}
            onChange={(axis) => {
              onView({ ...view, axis: axis === "step" ? undefined : axis });
            }}
          />
        )}
        <label>
          {texts.smoothing}
          <input
            type="range"
            min="0"
            max="0.99"
            step="0.01"
            value={smoothing}
            onChange={(event) => {
              onView({ ...view, smoothing: Number(event.target.value) || undefined });
            }}
          />
          <span className="number">{smoothing.toFixed(2)}</span>
        </label>
        <CheckField
          label={texts.log}
          checked={view.log ?? false}
          onChange={(event) => {
            onView({ ...view, log: event.target.checked || undefined });
          }}
        />
        <CheckField
          label={texts.outliers}
          checked={view.outliers ?? false}
          onChange={(event) => {
            onView({ ...view, outliers: event.target.checked || undefined });
          }}
        />
        {(props.groupKeys ?? []).length > 0 && (
          <label>
            {texts.groupBy}
            <select
              className="input fit"
              value={view.group ?? ""}
              onChange={(event) => {
                onView({ ...view, group: event.target.value || undefined });
              }}
            >
              <option value="">{texts.noGroups}</option>
              {props.groupKeys?.map((key) => (
                <option key={key} value={key}>
                  {key}
                </option>
              ))}
            </select>
          </label>
        )}
        {props.hasBranches && (
          <CheckField
            label={texts.hidden}
            checked={view.hidden ?? false}
            onChange={(event) => {
              onView({ ...view, hidden: event.target.checked || undefined });
            }}
          />
        )}
      </div>
      {!found.length && <p className="muted">{texts.noMatch}</p>}
      {sectionsOf(found.slice(0, most)).map((section, _, all) => (
        <ChartSection key={section.name} name={section.name} isAlone={all.length === 1}>
          {section.groups.map((group) => (
            <MetricChart
              key={group.title}
              group={group}
              runs={runs}
              view={{ ...view, smoothing, ...(isSystem ? { axis: "time" as const } : {}) }}
              version={props.version}
            />
          ))}
        </ChartSection>
      ))}
      {found.length > most && (
        <Button
          onClick={() => {
            setMost(most + SHOWN_AT_FIRST);
          }}
        >
          {texts.showMore(Math.min(SHOWN_AT_FIRST, found.length - most))}
        </Button>
      )}
      <p className="faint small wide-only">{texts.zoomHint}</p>
    </>
  );
}

/** Charts whose names begin alike; it can be closed. */
function ChartSection(props: { name: string; isAlone: boolean; children: ReactNode }) {
  const grid = <div className="chart-grid">{props.children}</div>;
  if (props.isAlone || !props.name) return grid;
  return (
    <details className="chart-section" open>
      <summary>
        <h2>{props.name}</h2>
      </summary>
      {grid}
    </details>
  );
}
