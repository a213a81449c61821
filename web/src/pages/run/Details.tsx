import { Fragment } from "react";
import type { Run } from "@/api/runs";
import { Code } from "@/parts/Code";
import { DataTable } from "@/parts/DataTable";
import { flatten, lastOf, showNumber, showValue } from "@/parts/numbers";
import { own } from "@/parts/own";
import { useTexts } from "@/texts/language";
import styles from "./run.module.css";

const LONG = 400;

/** What a run was made with, and what came out, as values. */
export function Details(props: { run: Run }) {
  const { run } = props;
  const { runs: texts } = useTexts();
  const branches = run.branches ?? [];
  return (
    <div className={styles.columns}>
      <Panel title={texts.hparams}>
        <Pairs values={flatten(run.hparams ?? {})} none={texts.noHparams} />
      </Panel>
      <Panel title={texts.summary}>
        <Pairs values={flatten(run.summary ?? {})} none={texts.noSummary} />
      </Panel>
      {(run.metrics ?? []).length > 0 && (
        <section className={`panel ${styles.wide ?? ""}`}>
          <div className="panel-head">
            <h2>{texts.metrics}</h2>
          </div>
          <Metrics run={run} />
        </section>
      )}
      {branches.length > 1 && (
        <Panel title={texts.attempts}>
          <ol>
            {branches.map((branch) => (
              <li key={branch.branch}>
                {branch.from_step == null
                  ? texts.branchEmpty(branch.branch)
                  : texts.branchFrom(branch.branch, branch.from_step)}
              </li>
            ))}
          </ol>
        </Panel>
      )}
      <Panel title={texts.environment} isWide>
        <Environment values={run.environment ?? {}} />
      </Panel>
    </div>
  );
}

function Panel(props: { title: string; isWide?: boolean; children: React.ReactNode }) {
  return (
    <section className={props.isWide ? `panel ${styles.wide ?? ""}` : "panel"}>
      <div className="panel-head">
        <h2>{props.title}</h2>
      </div>
      <div className="panel-body">{props.children}</div>
    </section>
  );
}

function Pairs(props: {
  values: Record<string, unknown>;
  none: string;
  /** What is known by a name of its own. */
  names?: Readonly<Record<string, string>>;
}) {
  const entries = Object.entries(props.values);
  if (!entries.length) return <p className="muted">{props.none}</p>;
  return (
    <dl className="pairs">
      {entries.map(([name, value]) => (
        <Fragment key={name}>
          <dt className="wrap">{own(props.names ?? {}, name) ?? name}</dt>
          <dd className="mono">{showValue(value)}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

function Metrics(props: { run: Run }) {
  const { runs: texts, values } = useTexts();
  return (
    <DataTable
      label={texts.metrics}
      rows={props.run.metrics ?? []}
      rowId={(metric) => `${metric.type}/${metric.name}`}
      maxHeight="30rem"
      columns={[
        {
          id: "name",
          title: texts.name,
          isClipped: true,
          cell: (metric) => [metric.type, metric.name].filter(Boolean).join("/"),
        },
        {
          id: "last",
          title: values.last,
          isEnd: true,
          cell: (metric) => showNumber(lastOf(metric)),
        },
        { id: "low", title: values.low, isEnd: true, cell: (metric) => showNumber(metric.low) },
        { id: "high", title: values.high, isEnd: true, cell: (metric) => showNumber(metric.high) },
        {
          id: "points",
          title: texts.points,
          isEnd: true,
          isWideOnly: true,
          cell: (metric) => metric.num_points,
        },
      ]}
    />
  );
}

function Environment(props: { values: Record<string, unknown> }) {
  const { runs: texts, captured } = useTexts();
  const { packages, ...rest } = props.values;
  const flat = Object.entries(flatten(rest));
  const short = flat.filter(([, value]) => showValue(value).length <= LONG);
  const long = flat.filter(([, value]) => showValue(value).length > LONG);
  if (!flat.length) return <p className="muted">{texts.noEnvironment}</p>;
  const listed = Array.isArray(packages) || typeof packages === "object" ? packages : undefined;
  const lines = Array.isArray(listed)
    ? listed.map(showValue)
    : Object.entries(listed ?? {}).map(([name, version]) => `${name}==${showValue(version)}`);
  return (
    <div className={styles.columns}>
      <Pairs values={Object.fromEntries(short)} none={texts.noEnvironment} names={captured} />
      {lines.length > 0 && (
        <details>
          <summary>{texts.packages(lines.length)}</summary>
          <Code text={lines.join("\n")} />
        </details>
      )}
      {long.map(([name, value]) => (
        <details key={name} className={styles.wide}>
          <summary>
            {name.endsWith("diff") ? texts.diff : (own<string>(captured, name) ?? name)}
          </summary>
          <Code text={showValue(value)} label={name} />
        </details>
      ))}
    </div>
  );
}
