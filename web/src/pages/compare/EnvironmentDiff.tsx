import { useQueries } from "@tanstack/react-query";
import { runQuery } from "@/api/runs";
import { Loading, Problem } from "@/parts/Empty";
import { own } from "@/parts/own";
import { naturally } from "@/parts/order";
import { useTexts } from "@/texts/language";
import type { ComparedRun } from "./ComparePage";
import { environmentOf } from "./environment";
import { TextDiff } from "./TextDiff";
import styles from "./compare.module.css";

const LONG = 200;

/** Packages, code and machines in which the runs differ; long texts, such as uncommitted changes, line by line. */
export function EnvironmentDiff(props: {
  runs: readonly ComparedRun[];
  /** The run that the others are compared with; the first one when left out. */
  baseline: string | undefined;
}) {
  const { values: texts, captured } = useTexts();
  const found = useQueries({ queries: props.runs.map((run) => runQuery(run.id)) });
  const problem = found.find((one) => one.error)?.error;
  if (problem) return <Problem error={problem} />;
  if (!found.every((one) => one.data)) return <Loading lines={8} />;
  const all = found.map((one) => environmentOf(one.data?.environment ?? {}));
  const keys = [...new Set(all.flatMap((one) => Object.keys(one)))]
    .filter((key) => new Set(all.map((one) => one[key])).size > 1)
    .sort(naturally);
  const base = Math.max(
    0,
    props.runs.findIndex((run) => run.id === props.baseline),
  );
  if (!keys.length) return <p className="muted">{texts.sameEnvironment}</p>;
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.tabs.environment}>
      <table className={`table ${styles.table ?? ""}`}>
        <thead>
          <tr>
            <th scope="col">{texts.key}</th>
            {props.runs.map((run) => (
              <th key={run.id} scope="col" title={run.name}>
                <span className={styles.head}>
                  <span className="swatch" style={{ background: run.color }} />
                  <span className="one-line">{run.name}</span>
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key}>
              <th scope="row" title={key}>
                {own<string>(captured, key) ?? key}
              </th>
              {props.runs.map((run, index) => (
                <EnvironmentValue
                  key={run.id}
                  value={all[index]?.[key] ?? "–"}
                  base={index === base ? undefined : (all[base]?.[key] ?? "")}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function EnvironmentValue(props: {
  value: string;
  /** What the run has that it is compared with; undefined for that run itself. */
  base: string | undefined;
}) {
  const { values: texts } = useTexts();
  const { value } = props;
  return (
    <td className={`mono ${styles.differs ?? ""}`} title={value.slice(0, LONG)}>
      {value.length > LONG ? (
        <details>
          <summary>{texts.longValue(value.split("\n").length)}</summary>
          {props.base === undefined ? (
            <pre className="code">{value}</pre>
          ) : (
            <TextDiff before={props.base} after={value} />
          )}
        </details>
      ) : (
        value
      )}
    </td>
  );
}
