import { useQuery } from "@tanstack/react-query";
import { runAlertsQuery, type Run } from "@/api/runs";
import { visibleLine } from "@/foreign/visible";
import { Ago, timeAt } from "@/parts/time";
import { useTexts } from "@/texts/language";

const LEVELS = { info: "info", warning: "warning", error: "error" } as const;

/** What the script wanted somebody to know. */
export function ScriptAlerts(props: { run: Run }) {
  const { run } = props;
  const { runs: texts } = useTexts();
  const { data } = useQuery({ ...runAlertsQuery(run.id), staleTime: 10_000 });
  if (!data?.length) return null;
  return (
    <details className="panel" open>
      <summary className="panel-head">
        <h2>
          {texts.alerts} ({data.length})
        </h2>
      </summary>
      <ul className="panel-body">
        {data.map((alert) => (
          <li key={alert.id} className="wrap">
            <span className="tag">
              {texts.levels[LEVELS[alert.level as keyof typeof LEVELS] ?? "info"]}
            </span>{" "}
            <strong>{visibleLine(alert.title)}</strong>{" "}
            <span className="faint small">
              <Ago at={timeAt(alert.time)} />
              {alert.step != null && ` · ${texts.step} ${String(alert.step)}`}
              {!alert.is_told && ` · ${texts.keptOnly}`}
            </span>
            {alert.text && <p data-lines>{alert.text}</p>}
          </li>
        ))}
      </ul>
    </details>
  );
}
