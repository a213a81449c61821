import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { isOver, resourcesQuery } from "@/api/jobs";
import { Chart } from "@/parts/chart/Chart";
import { Legend } from "@/parts/chart/MetricChart";
import { Empty, Loading, Problem } from "@/parts/Empty";
import { showNumber } from "@/parts/numbers";
import { useIsDark } from "@/parts/theme";
import { useTexts } from "@/texts/language";
import { AttemptPicker } from "../AttemptPicker";
import { useLoadedJob } from "../loaded";
import { HeatMap } from "./HeatMap";
import { AT_LEAST, chartsOf, isIdle, MOST_LINES, type Drawn, type Resources } from "./quantities";

const EVERY_MS = 5_000;

/** What the tasks of the job use, drawn. */
export function ResourcesTab() {
  const job = useLoadedJob();
  const { job: own, resources: texts } = useTexts();
  const isDark = useIsDark();
  const search = useSearch({ from: "/inside/jobs/$id/resources" });
  const navigate = useNavigate({ from: "/jobs/$id/resources" });
  const number = search.attempt ?? job.attempt;
  const found = useQuery({
    ...resourcesQuery(job.id, number),
    refetchInterval: isOver(job.state) ? false : EVERY_MS,
    placeholderData: keepPreviousData,
  });
  const charts = useMemo(() => {
    const words = {
      task: (rank: number) => `${own.rank} ${String(rank)}`,
      mean: texts.mean,
      highest: texts.highest,
      lowest: texts.lowest,
      reserved: texts.reserved,
    };
    return found.data ? chartsOf(found.data, words, isDark) : [];
  }, [found.data, own, texts, isDark]);
  if (found.error) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Loading />;
  const numTasks = found.data.tasks.length;
  const idle = charts.filter(isIdle).map((drawn) => texts.quantities[drawn.quantity]);
  return (
    <>
      <div className="toolbar">
        <AttemptPicker
          job={job}
          value={number}
          onChange={(attempt) => {
            void navigate({ search: (before) => ({ ...before, attempt }), replace: true });
          }}
        />
        {numTasks > MOST_LINES && <span className="muted small">{texts.many(numTasks)}</span>}
      </div>
      {charts.length ? (
        <>
          <div className="chart-grid">
            {charts
              .filter((drawn) => !isIdle(drawn))
              .map((drawn) => (
                <UseChart key={drawn.quantity} drawn={drawn} />
              ))}
          </div>
          <HeatMap found={found.data} job={job.id} />
          {idle.length > 0 && <p className="muted small">{texts.idle(idle)}</p>}
        </>
      ) : (
        <Nothing found={found.data} />
      )}
    </>
  );
}

function UseChart(props: { drawn: Drawn }) {
  const { quantity, unit, lines, average, highest } = props.drawn;
  const { chart, resources: texts } = useTexts();
  const title = `${texts.quantities[quantity]} (${texts.units[unit]})`;
  return (
    <section className="panel chart-card" aria-label={title}>
      <div className="panel-head">
        <h3>{title}</h3>
        <span className="muted small number">
          {texts.told(showNumber(tidy(average)), showNumber(tidy(highest)))}
        </span>
      </div>
      <div className="panel-body">
        <Chart
          label={title}
          lines={lines}
          xKind="seconds"
          xLabel={chart.time}
          group="resources"
          fromZeroTo={AT_LEAST[unit]}
        />
        {lines.length > 1 && <Legend lines={lines} />}
        {(quantity === "received" || quantity === "sent") && (
          <p className="legend">{texts.network}</p>
        )}
      </div>
    </section>
  );
}

function Nothing(props: { found: Resources }) {
  const { resources: texts } = useTexts();
  const { attempt, is_live: isLive } = props.found;
  const why = attempt === 0 ? texts.notStarted : isLive ? texts.soon : texts.tooShort;
  return (
    <div className="panel">
      <Empty icon="chart" title={texts.nothing}>
        <p>{why}</p>
      </Empty>
    </div>
  );
}

/** Three digits are enough beside a chart. */
function tidy(value: number): number {
  return value < 0.0005 ? 0 : Number(value.toPrecision(3));
}
