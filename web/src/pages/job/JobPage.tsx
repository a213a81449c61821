import { Link, Outlet, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { isOver, useJob, type Job } from "@/api/jobs";
import { Loading, Problem } from "@/parts/Empty";
import { Live } from "@/parts/Live";
import { Cost, PerHour } from "@/parts/money";
import { Star } from "@/parts/Star";
import { StateBadge } from "@/parts/StateBadge";
import { Ago, Duration } from "@/parts/time";
import { Trail } from "@/parts/Trail";
import { visibleLine } from "@/foreign/visible";
import { useTexts } from "@/texts/language";
import { JobActions } from "./JobActions";
import styles from "./job.module.css";

export function JobPage() {
  const { id } = useParams({ from: "/inside/jobs/$id" });
  const { data: job, error, refetch, stream } = useJob(id);
  const name = job?.name;
  useEffect(() => {
    if (name === undefined) return undefined;
    document.title = `${visibleLine(name)} · Danlu`;
    return () => {
      document.title = "Danlu";
    };
  }, [name]);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!job) return <Loading lines={6} />;
  return (
    <div className="page">
      <Head job={job} stream={stream} />
      <Tabs job={job} />
      <Outlet />
    </div>
  );
}

function Head(props: { job: Job; stream: "connecting" | "live" | "broken" | "over" }) {
  const { job } = props;
  const { jobs: texts, job: own, flavors } = useTexts();
  return (
    <header className={styles.head}>
      <Trail
        above={[[texts.title, { to: "/jobs" }]]}
        here={<span className="mono">{job.id}</span>}
      />
      <div className="page-head">
        <h1 className="wrap">{job.name}</h1>
        <Star job={job.id} name={job.name} />
        <StateBadge state={job.state} />
        {props.stream === "broken" && <Live state={props.stream} />}
        <div className="actions">
          <JobActions job={job} />
        </div>
      </div>
      <dl className={styles.facts}>
        <Fact label={own.duration}>
          <Duration from={job.started_at} to={job.ended_at} />
        </Fact>
        <Fact label={own.runsOn}>{job.on || `${String(job.nodes)}x ${job.device}`}</Fact>
        <Fact label={own.project}>{job.project}</Fact>
        <Fact label={own.owner}>{job.owner}</Fact>
        <Fact label={own.submitted}>
          <Ago at={job.created_at} />
        </Fact>
        {job.cost != null && job.price_per_hour != null && (
          <Fact label={flavors.cost}>
            <Cost of={job} />{" "}
            <span className="muted small" title={flavors.costHint}>
              <PerHour price={job.price_per_hour} currency={job.currency ?? ""} />
            </span>
          </Fact>
        )}
        {job.attempt > 1 && <Fact label={own.attempt}>{job.attempt}</Fact>}
        {job.progress !== null && job.progress !== undefined && (
          <Fact label={own.progress}>
            <span className={styles.progress}>
              <span className="number">{Math.floor(job.progress * 100)} %</span>
              <span className="bar" aria-hidden="true">
                <span style={{ width: `${String(job.progress * 100)}%` }} />
              </span>
              <span className="muted small number">
                {own.step(job.step ?? 0, job.total_steps ?? 0)}
              </span>
            </span>
          </Fact>
        )}
      </dl>
    </header>
  );
}

function Fact(props: { label: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{props.label}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

function Tabs(props: { job: Job }) {
  const { job: texts, endpoints, flow, resources, terminal } = useTexts();
  const { id } = useParams({ from: "/inside/jobs/$id" });
  const tabs = [
    ["/jobs/$id", texts.overview],
    ["/jobs/$id/logs", texts.logs],
    ["/jobs/$id/metrics", texts.metrics],
    ["/jobs/$id/resources", resources.title],
    ["/jobs/$id/tasks", texts.tasks],
    ["/jobs/$id/endpoints", endpoints.title],
    ...(isOver(props.job.state) ? [] : [["/jobs/$id/terminal", terminal.title] as const]),
    ["/jobs/$id/flow", flow.title],
    ["/jobs/$id/spec", texts.spec],
    ["/jobs/$id/events", texts.events],
  ] as const;
  return (
    <nav className="tabs" aria-label={texts.tabs}>
      {tabs.map(([to, label]) => (
        <Link
          key={to}
          to={to}
          params={{ id }}
          activeOptions={{ exact: true, includeSearch: false }}
          resetScroll={false}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
