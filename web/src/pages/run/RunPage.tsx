import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { mediaQuery, seriesQuery, useRun, type Metric, type Run } from "@/api/runs";
import { MetricCharts } from "@/parts/chart/MetricCharts";
import { SYSTEM } from "@/parts/chart/groups";
import type { ChartView } from "@/parts/chart/view";
import { Empty, Loading, Notice, Problem } from "@/parts/Empty";
import { Live } from "@/parts/Live";
import { showNumber } from "@/parts/numbers";
import { RunBadge } from "@/parts/RunBadge";
import { Tabs } from "@/parts/Tabs";
import { Ago, Duration } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { Details } from "./Details";
import { MediaGallery } from "./MediaGallery";
import { Output } from "./Output";
import { RunMenu } from "./RunMenu";
import styles from "./run.module.css";

const NO_SERIES: Metric[] = [];

export function RunPage() {
  const { id } = useParams({ from: "/inside/experiments/$id" });
  const { data: run, error, refetch, stream } = useRun(id);
  const { runs: texts } = useTexts();
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!run) return <Loading lines={8} />;
  return (
    <div className="page">
      <div className="page-head">
        <h1 className="wrap">{run.name}</h1>
        <RunBadge state={run.state} />
        <Live state={stream} />
        <RunMenu run={run} />
      </div>
      {run.deleted_at && <Notice icon="trash">{texts.inBin}</Notice>}
      <Facts run={run} />
      {run.description && <p className="wrap">{run.description}</p>}
      <Parts run={run} />
    </div>
  );
}

function Parts(props: { run: Run }) {
  const { run } = props;
  const { runs: texts } = useTexts();
  const search = useSearch({ from: "/inside/experiments/$id" });
  const navigate = useNavigate({ from: "/experiments/$id" });
  // rolled up anew whenever more was counted
  const { data } = useQuery({ ...seriesQuery(run.id), staleTime: Infinity });
  const { data: media } = useQuery(mediaQuery(run.id));
  const series = useMemo(() => known(data?.items ?? NO_SERIES, run), [data, run]);
  const system = series.filter((one) => one.type === SYSTEM);
  const output = (run.journals ?? []).filter((journal) => journal.output_bytes > 0);
  const tabs = [
    ["charts", texts.tabs.charts],
    ["details", texts.tabs.details],
    ...(system.length ? [["system", texts.tabs.system] as const] : []),
    ...(output.length ? [["output", texts.tabs.output] as const] : []),
    ...(media?.items.length ? [["media", texts.tabs.media] as const] : []),
  ] as const;
  const tab = search.tab ?? "charts";
  const runs = useMemo(() => [run], [run]);
  const shared = {
    runs,
    view: search,
    onView: (view: ChartView) => {
      void navigate({ search: (before) => ({ ...before, ...view }), replace: true });
    },
    version: run.num_points,
  };
  return (
    <>
      <Tabs label={run.name} tabs={tabs} shown={tab} />
      {tab === "charts" && (
        <MetricCharts
          {...shared}
          series={series.filter((one) => one.type !== SYSTEM)}
          hasBranches={(run.branches ?? []).length > 1}
        />
      )}
      {tab === "system" &&
        (system.length ? (
          <MetricCharts {...shared} series={system} isSystem />
        ) : (
          <div className="panel">
            <Empty icon="cluster" title={texts.noSystem}>
              <p>{texts.noSystemText}</p>
            </Empty>
          </div>
        ))}
      {tab === "details" && <Details run={run} />}
      {tab === "output" && <Output run={run} />}
      {tab === "media" && <MediaGallery run={run.id} />}
    </>
  );
}

/** Series of the list, and those that a run in the making has got since. */
function known(series: readonly Metric[], run: Run): Metric[] {
  const names = new Set(series.map((one) => `${one.type}/${one.name}`));
  const fresh = (run.metrics ?? []).filter((one) => !names.has(`${one.type}/${one.name}`));
  return [...series, ...fresh];
}

function Facts(props: { run: Run }) {
  const { run } = props;
  const { runs: texts } = useTexts();
  return (
    <dl className={styles.facts}>
      <div>
        <dt>{texts.folder}</dt>
        <dd>
          <Link to="/experiments" search={{ folder: run.folder || undefined }}>
            {run.folder || texts.allFolders}
          </Link>
        </dd>
      </div>
      <div>
        <dt>{texts.owner}</dt>
        <dd>{run.owner}</dd>
      </div>
      {run.job && (
        <div>
          <dt>{texts.job}</dt>
          <dd>
            <Link to="/jobs/$id" params={{ id: run.job }}>
              {run.job}
            </Link>
          </dd>
        </div>
      )}
      <div>
        <dt>{texts.started}</dt>
        <dd>
          <Ago at={run.started_at} />
        </dd>
      </div>
      <div>
        <dt>{texts.duration}</dt>
        <dd>
          <Duration from={run.started_at} to={run.ended_at} />
        </dd>
      </div>
      {run.step != null && (
        <div>
          <dt>{texts.step}</dt>
          <dd className="number">
            {run.step}
            {run.total_steps != null && ` / ${String(run.total_steps)}`}
            {run.progress != null && run.state === "running" && (
              <span className="bar" role="presentation">
                <span style={{ width: `${String(Math.min(1, run.progress) * 100)}%` }} />
              </span>
            )}
          </dd>
        </div>
      )}
      {run.epoch != null && (
        <div>
          <dt>{texts.epoch}</dt>
          <dd className="number">{showNumber(run.epoch)}</dd>
        </div>
      )}
      {run.state === "running" && (
        <div>
          <dt>{texts.seen}</dt>
          <dd>
            <Ago at={run.seen_at} />
          </dd>
        </div>
      )}
      {run.reason && run.state !== "finished" && (
        <div className={styles.reason}>
          <dt>{texts.reason}</dt>
          <dd>{run.reason}</dd>
        </div>
      )}
      {(run.labels ?? []).length > 0 && (
        <div>
          <dt>{texts.labels}</dt>
          <dd className="toolbar">
            {run.labels?.map((label) => (
              <span key={label} className="tag">
                {label}
              </span>
            ))}
          </dd>
        </div>
      )}
    </dl>
  );
}
