import { useTexts } from "@/texts/language";
import styles from "../run.module.css";
import type { Confusion } from "./parsed";

/** How often which label was taken for which; the darker, the larger a part of its row. */
export function Matrix(props: Confusion & { name: string }) {
  const { labels, counts, name } = props;
  const { runs: texts } = useTexts();
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={name}>
      <table className={`table ${styles.matrix ?? ""}`}>
        <thead>
          <tr>
            <th scope="col">
              {texts.truth} ╲ {texts.predicted}
            </th>
            {labels.map((label, at) => (
              <th key={at} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {counts.map((row, at) => {
            const total = row.reduce((sum, count) => sum + count, 0);
            return (
              <tr key={at}>
                <th scope="row">{labels[at]}</th>
                {row.map((count, to) => (
                  <td
                    key={to}
                    className="number end"
                    style={{ "--part": total ? count / total : 0 } as React.CSSProperties}
                  >
                    {count}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
