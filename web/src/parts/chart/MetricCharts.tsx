import { useMemo, useState } from "react";
import type { RunSummary } from "@/api/runs";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Empty } from "@/parts/Empty";
import { LOG_METRICS } from "@/parts/snippets";
import { useTexts } from "@/texts/language";
import { ChartTools } from "./ChartTools";
import { groupSeries, sectionsOf, type ChartGroup, type Section, type SeriesKey } from "./groups";
import { MetricChart } from "./MetricChart";
import type { ChartView } from "./view";

const OPEN_AT_FIRST = 24;
const FEW = 4;

export type ChartedRun = Pick<RunSummary, "id" | "name" | "started_at"> & {
  color?: string;
  /** The runs that it is put together with, as people read it; undefined where runs are not grouped. */
  together?: string;
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
  /** Whether the script named what some metrics are shown over. */
  hasOwnAxes?: boolean;
  /** What the runs can be put together by. */
  groupKeys?: readonly string[];
  /** The run that the others are compared with. */
  baseline?: string;
  /** The use of the machine: by time only. */
  isSystem?: boolean;
  /** Runs of several are drawn as several, also when only one is left of them. */
  isComparing?: boolean;
};

/** Charts of all metrics of some runs, with what one needs to look at them. */
export function MetricCharts(props: MetricChartsProps) {
  const { chart: texts } = useTexts();
  const { onView, runs, isSystem = false } = props;
  const smoothing = Math.min(0.99, Math.max(0, props.view.smoothing ?? 0));
  const view = { ...props.view, smoothing };
  const [words, setWords] = useState("");
  const isOne = runs.length === 1 && !props.isComparing;
  const groups = useMemo(() => groupSeries(props.series, isOne), [props.series, isOne]);
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
  const chart = (group: ChartGroup) => (
    <MetricChart
      key={group.title}
      group={group}
      runs={runs}
      view={isSystem ? { ...view, axis: "time" } : view}
      onChange={(change) => {
        onView(change(props.view));
      }}
      version={props.version}
      baseline={props.baseline}
      isSystem={isSystem}
    />
  );
  const isPinned = (group: ChartGroup) => view.pins?.includes(group.title) ?? false;
  const pinned = (view.pins ?? []).flatMap((title) => found.filter((one) => one.title === title));
  const sections = sectionsOf(found.filter((group) => !isPinned(group)));
  return (
    <div className="charts" data-size={view.size}>
      <ChartTools
        view={view}
        onView={onView}
        words={groups.length > FEW ? words : undefined}
        onWords={setWords}
        groupKeys={props.groupKeys ?? []}
        hasBranches={props.hasBranches ?? false}
        isSystem={isSystem}
        hasOwnAxes={props.hasOwnAxes ?? false}
      />
      {!found.length && <p className="muted">{texts.noMatch}</p>}
      {pinned.length > 0 && (
        <section aria-label={texts.pinned}>
          <h2 className="chart-heading">{texts.pinned}</h2>
          <div className="chart-grid">{pinned.map(chart)}</div>
        </section>
      )}
      {sections.map((section, at) => (
        <ChartSection
          key={section.name}
          section={section}
          isAlone={sections.length === 1 && !pinned.length}
          isOpen={numBefore(sections, at) < OPEN_AT_FIRST || wanted !== ""}
          chart={chart}
        />
      ))}
      <p className="faint small wide-only">{texts.zoomHint}</p>
    </div>
  );
}

function numBefore(sections: readonly Section[], at: number): number {
  return sections.slice(0, at).reduce((sum, section) => sum + section.groups.length, 0);
}

/** Charts whose names begin alike. Those of a closed one are not made. */
function ChartSection(props: {
  section: Section;
  isAlone: boolean;
  isOpen: boolean;
  chart: (group: ChartGroup) => React.ReactNode;
}) {
  const { chart: texts } = useTexts();
  const { name, groups } = props.section;
  const [toggled, setToggled] = useState<boolean>();
  const [most, setMost] = useState(OPEN_AT_FIRST);
  const isOpen = toggled ?? props.isOpen;
  const inside = (
    <>
      <div className="chart-grid">{groups.slice(0, most).map(props.chart)}</div>
      {groups.length > most && (
        <Button
          onClick={() => {
            setMost(most + OPEN_AT_FIRST);
          }}
        >
          {texts.showMore(Math.min(OPEN_AT_FIRST, groups.length - most))}
        </Button>
      )}
    </>
  );
  if (props.isAlone || !name) return inside;
  return (
    <details
      className="chart-section"
      open={isOpen}
      onToggle={(event) => {
        if (event.currentTarget.open !== isOpen) setToggled(event.currentTarget.open);
      }}
    >
      <summary>
        <h2>{name}</h2> <span className="faint number">{groups.length}</span>
      </summary>
      {isOpen && inside}
    </details>
  );
}
