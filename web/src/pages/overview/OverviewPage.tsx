import { Link } from "@tanstack/react-router";
import { isOver, useJobChanges, useJobs, type JobSummary } from "@/api/jobs";
import { useMe } from "@/api/session";
import { useProject } from "@/frame/ProjectPicker";
import { buttonClass } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Empty } from "@/parts/Empty";
import { Found, Incomplete } from "@/parts/Found";
import { Icon } from "@/parts/Icon";
import { Live } from "@/parts/Live";
import { Reason } from "@/parts/Reason";
import { RUN_COMMAND } from "@/parts/snippets";
import { StateBadge } from "@/parts/StateBadge";
import { Ago, Duration } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { DevicesPanel } from "./DevicesPanel";
import { FirstSteps } from "./FirstSteps";
import styles from "./overview.module.css";
import { QuotaPanel } from "./QuotaPanel";
import { RunsPanel } from "./RunsPanel";

const MOST_OPEN = 20;
const MOST_ENDED = 6;

export function OverviewPage() {
  const { overview: texts } = useTexts();
  const me = useMe();
  const project = useProject();
  const stream = useJobChanges();
  const found = useJobs();
  const mine = (found.data?.items ?? []).filter(
    (job) => job.owner === me.name && (project === undefined || job.project === project),
  );
  const isExperienced = (found.data?.items ?? []).some((job) => job.owner === me.name);
  const open = mine.filter((job) => !isOver(job.state));
  const failed = mine.filter((job) => job.state === "failed").slice(0, MOST_ENDED);
  const ended = mine
    .filter((job) => isOver(job.state) && job.state !== "failed")
    .slice(0, MOST_ENDED);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
        <Live state={stream} />
      </div>
      <div className={styles.columns}>
        <div className={styles.stack}>
          {found.rest.isComplete && !isExperienced && <FirstSteps />}
          <section className="panel">
            <div className="panel-head">
              <h2>{texts.mine}</h2>
              <Link to="/jobs">{texts.allJobs}</Link>
            </div>
            <Incomplete rest={found.rest} count={found.data?.items.length ?? 0} />
            <Found of={found}>
              {() => (open.length ? <JobLines jobs={open.slice(0, MOST_OPEN)} /> : <NoJobs />)}
            </Found>
          </section>
          {failed.length > 0 && (
            <section className="panel">
              <div className="panel-head">
                <h2>{texts.failed}</h2>
                <Link to="/jobs" search={{ state: "failed", owner: me.name }}>
                  {texts.allJobs}
                </Link>
              </div>
              <JobLines jobs={failed} />
            </section>
          )}
          {ended.length > 0 && (
            <section className="panel">
              <div className="panel-head">
                <h2>{texts.done}</h2>
              </div>
              <JobLines jobs={ended} />
            </section>
          )}
        </div>
        <div className={styles.stack}>
          <DevicesPanel />
          <QuotaPanel />
          <RunsPanel />
        </div>
      </div>
    </div>
  );
}

/** Jobs in a few words each: what it is, how it goes and why. */
function JobLines(props: { jobs: readonly JobSummary[] }) {
  return (
    <ul className={styles.jobs}>
      {props.jobs.map((job) => (
        <li key={job.id}>
          <StateBadge state={job.state} />
          <div className={styles.what}>
            <Link to="/jobs/$id" params={{ id: job.id }} className="row-name wrap">
              {job.name}
            </Link>
            <p className="muted small wrap">
              <Reason of={job} />
            </p>
          </div>
          <div className={`${styles.when ?? ""} muted small`}>
            {isOver(job.state) ? (
              <Ago at={job.ended_at} />
            ) : job.started_at ? (
              <Duration from={job.started_at} />
            ) : (
              <Ago at={job.created_at} />
            )}
            <span>{job.on}</span>
          </div>
        </li>
      ))}
    </ul>
  );
}

function NoJobs() {
  const { overview: texts, jobs, examples } = useTexts();
  return (
    <Empty
      icon="jobs"
      title={texts.noneTitle}
      actions={
        <>
          <Link to="/submit" className={buttonClass("primary")}>
            <Icon name="plus" />
            {jobs.submit}
          </Link>
          <Link to="/examples" className={buttonClass()}>
            <Icon name="book" />
            {examples.title}
          </Link>
        </>
      }
    >
      <p>{texts.noneText}</p>
      <Code text={RUN_COMMAND} />
    </Empty>
  );
}
