import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { compareModelsQuery, type Compared } from "@/api/models";
import { Loading, Problem } from "@/parts/Empty";
import { CheckField } from "@/parts/Field";
import { showValue } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import styles from "./models.module.css";

/** Versions side by side, as the server compares them. */
export function CompareVersions(props: {
  model: string;
  project: string;
  versions: readonly string[];
}) {
  const { models: texts } = useTexts();
  const [withSame, setWithSame] = useState(false);
  const { data, error, refetch } = useQuery(compareModelsQuery(props, props.versions));
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  const groups: [string, Compared[]][] = [
    [texts.facts, data.facts],
    [texts.metrics, data.metrics],
    [texts.hparams, data.hparams],
  ];
  const shown = groups
    .map(([title, rows]) => [title, rows.filter((row) => withSame || !row.is_same)] as const)
    .filter(([, rows]) => rows.length);
  return (
    <>
      <div className="toolbar">
        <CheckField
          label={texts.same}
          checked={withSame}
          onChange={(event) => {
            setWithSame(event.target.checked);
          }}
        />
      </div>
      <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.compare}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{texts.model}</th>
              {data.versions.map((version) => (
                <th key={version.id} scope="col">
                  v{version.version} {(version.aliases ?? []).join(", ")}
                </th>
              ))}
            </tr>
          </thead>
          {shown.map(([title, rows]) => (
            <tbody key={title}>
              <tr>
                <th scope="rowgroup" colSpan={data.versions.length + 1} className={styles.group}>
                  {title}
                </th>
              </tr>
              {rows.map((row) => (
                <tr key={row.name}>
                  <th scope="row">{row.name}</th>
                  {row.values.map((value: unknown, index) => (
                    <td
                      key={index}
                      className={row.is_same ? "number" : `number ${styles.differs ?? ""}`}
                    >
                      {value === null ? "–" : showValue(value)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          ))}
        </table>
      </div>
    </>
  );
}
