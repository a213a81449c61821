import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isOver, reasonsQuery, whyQuery, type Job } from "@/api/jobs";
import { buttonClass } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Notice } from "@/parts/Empty";
import { Icon } from "@/parts/Icon";
import { showPrice } from "@/parts/money";
import { StateBadge } from "@/parts/StateBadge";
import { Ago, Duration, Moment } from "@/parts/time";
import { useLocale, useTexts } from "@/texts/language";
import styles from "./job.module.css";
import { useLoadedJob } from "./loaded";
import { commandOf, flavorsIn } from "./spec";

export function OverviewTab() {
  const job = useLoadedJob();
  return (
    <div className={styles.columns}>
      <div className={styles.stack}>
        <Why job={job} />
        <LastLines job={job} />
        <What job={job} />
      </div>
      <div className={styles.stack}>
        <Attempts job={job} />
        <Notes job={job} />
      </div>
    </div>
  );
}

/** Why it waits, or why it ended: the cause, and what to do. */
function Why(props: { job: Job }) {
  const { job } = props;
  const { job: texts, reasons: translated } = useTexts();
  const own = translated[job.reason.code];
  const isQueued = job.state === "queued";
  const { data: why } = useQuery({ ...whyQuery(job.id, job.reason.message), enabled: isQueued });
  const { data: reasons } = useQuery(reasonsQuery);
  const entry = reasons?.items.find((one) => one.code === job.reason.code);
  const kind = { failed: "bad", queued: "wait", succeeded: "ok", running: "run" }[
    job.state as string
  ] as "bad" | "wait" | "ok" | "run" | undefined;
  const hasRemedy = entry !== undefined && entry.remedy !== "" && (isOver(job.state) || isQueued);
  return (
    <Notice kind={kind} icon={isQueued ? "clock" : undefined}>
      <div className={styles.why}>
        {own && <strong>{own.cause}</strong>}
        <Told isStrong={!own}>
          {isQueued && why ? withoutName(why.sentence, job.id) : job.reason.message}
        </Told>
        {isQueued && why && why.would_help.length > 0 && (
          <div>
            {texts.wouldHelp}
            <ul>
              {why.would_help.map((one) => (
                <li key={one}>{one}</li>
              ))}
            </ul>
          </div>
        )}
        {isQueued && why?.estimate && (
          <div>
            {texts.startsAt} <Moment at={why.estimate.starts_at} />
          </div>
        )}
        {hasRemedy && job.state === "failed" && (
          <div>
            {texts.whatToDo}: {own?.remedy ?? entry.remedy}
          </div>
        )}
      </div>
    </Notice>
  );
}

function Told(props: { isStrong: boolean; children: string }) {
  return props.isStrong ? <strong>{props.children}</strong> : <div lang="en">{props.children}</div>;
}

/** The page has the name already. */
function withoutName(sentence: string, id: string): string {
  return sentence.startsWith(`${id} waits: `) ? sentence.slice(id.length + 8) : sentence;
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

function What(props: { job: Job }) {
  const { job } = props;
  const { job: texts, common, flavors, submit } = useTexts();
  const locale = useLocale();
  const spec = job.spec as Record<string, unknown>;
  const command = commandOf(spec);
  const retry = (spec.retry as { max?: number } | undefined)?.max ?? 0;
  const data = Object.entries((spec.data ?? {}) as Record<string, string>);
  const code = spec.code as { store?: string; tree?: string } | null | undefined;
  const pairs = (value: unknown) => Object.entries((value ?? {}) as Record<string, unknown>);
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.what}</h2>
      </div>
      <div className="panel-body">
        <dl className="pairs">
          {command && (
            <>
              <dt>{texts.command}</dt>
              <dd>
                <Code text={command} isWrapped label={texts.command} />
              </dd>
            </>
          )}
          <dt>{texts.launch}</dt>
          <dd>{job.launch}</dd>
          {job.price_per_hour != null && job.currency != null && (
            <>
              <dt>{flavors.flavor}</dt>
              <dd>
                {flavorsIn(spec)}{" "}
                <span className="muted">
                  {flavors.allNodes(
                    flavors.perHour(showPrice(job.price_per_hour, job.currency, locale)),
                  )}
                </span>
              </dd>
            </>
          )}
          {job.framework && (
            <>
              <dt>{flavors.framework}</dt>
              <dd>
                {job.framework.title || job.framework.name}{" "}
                <span className="muted">
                  {job.framework.image ? <code>{job.framework.image}</code> : flavors.own}
                </span>
              </dd>
            </>
          )}
          {typeof spec.image === "string" && (
            <>
              <dt>{texts.image}</dt>
              <dd>
                <code>{spec.image}</code>
              </dd>
            </>
          )}
          {code && (
            <>
              <dt>{texts.code}</dt>
              <dd>
                <code>{code.store ?? code.tree?.slice(0, 12)}</code>
              </dd>
            </>
          )}
          {data.length > 0 && (
            <>
              <dt>{texts.data}</dt>
              <dd>
                {data.map(([from, to]) => (
                  <div key={from}>
                    <code>{from}</code> → <code>{to}</code>
                  </div>
                ))}
              </dd>
            </>
          )}
          <dt>{texts.output}</dt>
          <dd>
            <code>{job.output}</code>
          </dd>
          {pairs(spec.env).length > 0 && (
            <>
              <dt>{texts.env}</dt>
              <dd>
                {pairs(spec.env).map(([key, value]) => (
                  <div key={key}>
                    <code>
                      {key}={String(value)}
                    </code>
                  </div>
                ))}
              </dd>
            </>
          )}
          {pairs(spec.hyperparameters).length > 0 && (
            <>
              <dt>{texts.hyperparameters}</dt>
              <dd>
                {pairs(spec.hyperparameters).map(([key, value]) => (
                  <div key={key}>
                    <code>
                      {key} = {JSON.stringify(value)}
                    </code>
                  </div>
                ))}
              </dd>
            </>
          )}
          {Object.keys(job.tags).length > 0 && (
            <>
              <dt>{texts.tags}</dt>
              <dd>
                {Object.entries(job.tags).map(([key, value]) => (
                  <span key={key} className="tag">
                    {key}={value}
                  </span>
                ))}
              </dd>
            </>
          )}
          <dt>{texts.priority}</dt>
          <dd>{job.priority}</dd>
          <dt>{texts.preemptible}</dt>
          <dd>{spec.preemptible ? common.yes : common.no}</dd>
          {(spec.access === "read" || spec.access === "owner") && (
            <>
              <dt>{texts.access}</dt>
              <dd>{submit.accesses[spec.access]}</dd>
            </>
          )}
          <dt>{texts.retries}</dt>
          <dd>{retry ? texts.retriesUpTo(retry) : texts.noRetries}</dd>
        </dl>
      </div>
    </section>
  );
}

function Attempts(props: { job: Job }) {
  const { job: texts } = useTexts();
  const { job } = props;
  if (!job.attempts.length) return null;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.attempts}</h2>
      </div>
      <div className="table-scroll">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{texts.attempt}</th>
              <th scope="col">{texts.state}</th>
              <th scope="col">{texts.started}</th>
              <th scope="col" className="end">
                {texts.duration}
              </th>
            </tr>
          </thead>
          <tbody>
            {[...job.attempts].reverse().map((attempt) => (
              <tr key={attempt.number} title={attempt.reason.message}>
                <td>
                  <Link
                    to="/jobs/$id/logs"
                    params={{ id: job.id }}
                    search={{ attempt: attempt.number }}
                  >
                    {attempt.number}
                  </Link>
                </td>
                <td>
                  <StateBadge state={attempt.state} />
                </td>
                <td>
                  <Ago at={attempt.started_at} />
                </td>
                <td className="end">
                  <Duration from={attempt.started_at} to={attempt.ended_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Notes(props: { job: Job }) {
  const { job: texts } = useTexts();
  if (!props.job.notes.length) return null;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.notes}</h2>
      </div>
      <ul className="panel-body muted">
        {props.job.notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </section>
  );
}
