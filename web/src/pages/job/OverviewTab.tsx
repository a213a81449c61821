import { Link } from "@tanstack/react-router";
import type { Job } from "@/api/jobs";
import { buttonClass } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Icon } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import { told } from "@/texts/told";
import { Alerts } from "./Alerts";
import { Attempts } from "./Attempts";
import { Configuration } from "./Configuration";
import { FirstCurve } from "./FirstCurve";
import styles from "./job.module.css";
import { useLoadedJob } from "./loaded";
import { LogTail } from "./LogTail";
import { Results } from "./Results";
import { Why } from "./Why";

export function OverviewTab() {
  const job = useLoadedJob();
  return (
    <div className={styles.stack}>
      <Alerts job={job} />
      <Why job={job} />
      <LastLines job={job} />
      <LogTail job={job} />
      <div className={styles.pair}>
        <FirstCurve job={job} />
        <Results job={job} />
      </div>
      <Attempts job={job} />
      <Configuration job={job} />
      <Notes job={job} />
    </div>
  );
}

function LastLines(props: { job: Job }) {
  const { job: texts } = useTexts();
  const { job } = props;
  const attempt = job.attempts.at(-1);
  if (!attempt || job.state !== "failed" || !attempt.last_lines.length) return null;
  const rank = attempt.first_failed_rank ?? 0;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.lastLines(rank)}</h2>
        <Link
          to="/jobs/$id/logs"
          params={{ id: job.id }}
          search={{ rank }}
          className={buttonClass("normal", { isSmall: true })}
        >
          <Icon name="terminal" />
          {texts.toLog}
        </Link>
      </div>
      <div className="panel-body">
        <Code text={attempt.last_lines.join("\n")} label={texts.lastLines(rank)} />
      </div>
    </section>
  );
}

function Notes(props: { job: Job }) {
  const { job: texts, messages } = useTexts();
  if (!props.job.notes.length) return null;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.notes}</h2>
      </div>
      <ul className="panel-body muted">
        {props.job.notes.map((note, at) => (
          <li key={note}>{told(messages, props.job.notes_said?.[at], note)}</li>
        ))}
      </ul>
    </section>
  );
}
