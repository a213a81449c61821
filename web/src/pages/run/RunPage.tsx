import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { mediaQuery, seriesQuery, useRun, type Metric, type Run } from "@/api/runs";
import { MetricCharts } from "@/parts/chart/MetricCharts";
import { SYSTEM } from "@/parts/chart/groups";
import type { ChartView } from "@/parts/chart/view";
import { Description } from "@/parts/Description";
import { Empty, Loading, Notice, Problem, ProblemLine } from "@/parts/Empty";
import { Facts } from "@/parts/Facts";
import { Flow } from "@/parts/flow/Flow";
import { Live } from "@/parts/Live";
import { showNumber } from "@/parts/numbers";
import { RunBadge } from "@/parts/RunBadge";
import { Tabs } from "@/parts/Tabs";
import { Ago, Duration } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { told } from "@/texts/told";
import { quoted } from "../experiments/filter";
import { Details } from "./Details";
import { MediaGallery } from "./MediaGallery";
import { Output } from "./Output";
import { RunMenu } from "./RunMenu";
import { ScriptAlerts } from "./ScriptAlerts";

const NO_SERIES: Metric[] = [];

export function RunPage() {
  const { id } = useParams({ from: "/inside/experiments/$id" });
  const { data: run, error, refetch, stream } = useRun(id);
  const { runs: texts, messages } = useTexts();
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
      <RunFacts run={run} />
      {run.reason && run.state !== "finished" && (
        <Notice kind="bad">{told(messages, run.said, run.reason)}</Notice>
      )}
      <Description text={run.description} />
      <ScriptAlerts run={run} />
      <Parts run={run} />
    </div>
  );
}

function Parts(props: { run: Run }) {
  const { run } = props;
  const { runs: texts, flow } = useTexts();
  const search = useSearch({ from: "/inside/experiments/$id" });
  const navigate = useNavigate({ from: "/experiments/$id" });
  // rolled up anew whenever more was counted
  const listed = useQuery({ ...seriesQuery(run.id), staleTime: Infinity });
  const media = useQuery(mediaQuery(run.id));
  const { data } = listed;
  const series = useMemo(() => known(data?.items ?? NO_SERIES, run), [data, run]);
  const system = series.filter((one) => one.type === SYSTEM);
  const output = (run.journals ?? []).filter((journal) => journal.output_bytes > 0);
  const tabs = [
    ["charts", texts.tabs.charts],
    ["details", texts.tabs.details],
    ...(system.length ? [["system", texts.tabs.system] as const] : []),
    ...(output.length ? [["output", texts.tabs.output] as const] : []),
    ...(media.error || media.data?.length ? [["media", texts.tabs.media] as const] : []),
    ["flow", flow.title],
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
      {listed.error && <ProblemLine error={listed.error} onRetry={() => void listed.refetch()} />}
      {tab === "charts" && (
        <MetricCharts
          {...shared}
          series={series.filter((one) => one.type !== SYSTEM)}
          hasBranches={(run.branches ?? []).length > 1}
          hasOwnAxes={Object.keys(run.axes ?? {}).length > 0}
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
      {tab === "flow" && <Flow node={`run:${run.id}`} />}
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

function RunFacts(props: { run: Run }) {
  const { run } = props;
  const { runs: texts } = useTexts();
  return (
    <Facts
      items={[
        [
          texts.folder,
          <Link key="folder" to="/experiments" search={{ folder: run.folder || undefined }}>
            {run.folder || texts.allFolders}
          </Link>,
        ],
        [texts.owner, run.owner],
        run.job && [
          texts.job,
          <Link key="job" to="/jobs/$id" params={{ id: run.job }}>
            {run.job}
          </Link>,
        ],
        run.group && [
          texts.group,
          <Link key="group" to="/experiments" search={{ q: `group = ${quoted(run.group)}` }}>
            {run.group}
          </Link>,
        ],
        run.parent && [
          texts.parent,
          <Link key="parent" to="/experiments/$id" params={{ id: run.parent }}>
            {run.parent}
          </Link>,
        ],
        run.num_parts > 0 && [
          texts.parts,
          <Link key="parts" to="/experiments" search={{ q: `parent = ${quoted(run.id)}` }}>
            {texts.partsList(run.num_parts)}
          </Link>,
        ],
        [texts.started, <Ago key="started" at={run.started_at} />],
        [texts.duration, <Duration key="duration" from={run.started_at} to={run.ended_at} />],
        run.step != null && [texts.step, <Progress key="step" run={run} />],
        run.epoch != null && [texts.epoch, showNumber(run.epoch)],
        run.state === "running" && [texts.seen, <Ago key="seen" at={run.seen_at} />],
        (run.labels ?? []).length > 0 && [
          texts.labels,
          <span key="labels" className="toolbar">
            {run.labels?.map((label) => (
              <span key={label} className="tag">
                {label}
              </span>
            ))}
          </span>,
        ],
      ]}
    />
  );
}

function Progress(props: { run: Run }) {
  const { step, total_steps: total, progress, state } = props.run;
  return (
    <>
      <span className="number">
        {step}
        {total != null && ` / ${String(total)}`}
      </span>
      {progress != null && state === "running" && (
        <span className="bar" role="presentation">
          <span style={{ width: `${String(Math.min(1, progress) * 100)}%` }} />
        </span>
      )}
    </>
  );
}
