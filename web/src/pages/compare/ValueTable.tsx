import { useMemo } from "react";
import { CheckField } from "@/parts/Field";
import { showValue } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import { differing, keysOf, shortKey, valuesOf, type ValueKind } from "../experiments/values";
import type { ComparedRun } from "./ComparePage";
import styles from "./compare.module.css";
import { differenceOf } from "@/parts/difference";

const KINDS: readonly ValueKind[] = ["hparams", "metrics", "summary"];

/** Values side by side: one row per value, one column per run. */
export function ValueTable(props: {
  runs: readonly ComparedRun[];
  /** The run that the others are compared with. */
  baseline: ComparedRun | undefined;
  withSame: boolean;
  onWithSame: (withSame: boolean) => void;
}) {
  const { values: texts, runs: runTexts } = useTexts();
  const { runs } = props;
  const groups = useMemo(() => {
    const keys = keysOf(runs);
    return KINDS.map((kind) => {
      const different = new Set(differing(runs, keys[kind]));
      const shown = props.withSame ? keys[kind] : keys[kind].filter((key) => different.has(key));
      return { kind, shown, different };
    }).filter((group) => group.shown.length);
  }, [runs, props.withSame]);
  return (
    <>
      <div className="toolbar">
        <CheckField
          label={texts.same}
          checked={props.withSame}
          onChange={(event) => {
            props.onWithSame(event.target.checked);
          }}
        />
      </div>
      {!groups.length && <p className="muted">{texts.noDifference}</p>}
      {groups.length > 0 && (
        <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.tabs.values}>
          <table className={`table ${styles.table ?? ""}`}>
            <thead>
              <tr>
                <th scope="col">{texts.key}</th>
                {runs.map((run) => (
                  <th key={run.id} scope="col" title={run.name}>
                    <span className={styles.head}>
                      <span className="swatch" style={{ background: run.color }} />
                      <span className="one-line">{run.name}</span>
                    </span>
                  </th>
                ))}
              </tr>
            </thead>
            {groups.map(({ kind, shown, different }) => (
              <tbody key={kind}>
                <tr>
                  <th scope="rowgroup" colSpan={runs.length + 1} className={styles.group}>
                    {runTexts[kind]}
                  </th>
                </tr>
                {shown.map((key) => (
                  <tr key={key}>
                    <th scope="row">{shortKey(key)}</th>
                    {runs.map((run) => {
                      const value = valuesOf(run)[key];
                      const text = value === null ? "–" : showValue(value);
                      const isOdd = kind === "hparams" && different.has(key);
                      return (
                        <td
                          key={run.id}
                          className={isOdd ? `number ${styles.differs ?? ""}` : "number"}
                          title={text}
                        >
                          {text}
                          {props.baseline && props.baseline.id !== run.id && (
                            <Difference value={value} base={valuesOf(props.baseline)[key]} />
                          )}
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            ))}
          </table>
        </div>
      )}
    </>
  );
}

/** How much a number is above or below that of the baseline. */
function Difference(props: { value: unknown; base: unknown }) {
  const percent = differenceOf(props.value, props.base);
  if (percent === undefined) return null;
  return <span className="muted small"> {percent}</span>;
}
