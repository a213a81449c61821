import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useRuns, type RunSummary } from "@/api/runs";
import { colorOf } from "@/parts/chart/colors";
import { buttonClass } from "@/parts/Button";
import { Empty, Loading, Notice, Problem } from "@/parts/Empty";
import { Icon } from "@/parts/Icon";
import { Live } from "@/parts/Live";
import { Tabs } from "@/parts/Tabs";
import { useIsDark } from "@/parts/theme";
import { useTexts } from "@/texts/language";
import { MOST_COMPARED } from "../experiments/RunActions";
import { ViewsMenu } from "../views/ViewsMenu";
import { EnvironmentDiff } from "./EnvironmentDiff";
import { Parallel } from "./Parallel";
import { RunCharts } from "./RunCharts";
import { Scatter } from "./Scatter";
import { ValueTable } from "./ValueTable";
import styles from "./compare.module.css";

export type ComparedRun = RunSummary & { color: string };

export function ComparePage() {
  const { values: texts } = useTexts();
  const search = useSearch({ from: "/inside/experiments/compare" });
  const navigate = useNavigate({ from: "/experiments/compare" });
  const ids = useMemo(
    () => [...new Set((search.runs ?? "").split(",").filter(Boolean))].slice(0, MOST_COMPARED),
    [search.runs],
  );
  const found = useRuns({ filter: `id in (${ids.join(", ")})` }, { isEnabled: ids.length > 0 });
  const isDark = useIsDark();
  const runs = useMemo(() => {
    const byId = new Map(found.data?.items.map((run) => [run.id, run]));
    return ids.flatMap((id, index) => {
      const run = byId.get(id);
      return run ? [{ ...run, color: colorOf(index, isDark) }] : [];
    });
  }, [found.data, ids, isDark]);
  if (!ids.length)
    return (
      <div className="page">
        <h1>{texts.compareTitle(0)}</h1>
        <div className="panel">
          <Empty
            icon="chart"
            title={texts.nothing}
            actions={
              <Link to="/experiments" className={buttonClass("primary")}>
                {texts.toTable}
              </Link>
            }
          >
            <p>{texts.nothingText}</p>
          </Empty>
        </div>
      </div>
    );
  if (found.error) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Loading lines={8} />;
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.compareTitle(runs.length)}</h1>
        {runs.some((run) => run.state === "running") && <Live state={found.stream} />}
        <div className="actions">
          <ViewsMenu
            page="compare"
            search={search}
            project={runs[0]?.project}
            onSaved={(view) => {
              void navigate({
                search: (before) => ({ ...before, view: view.id }),
                replace: true,
              });
            }}
          />
        </div>
      </div>
      {runs.length < ids.length && (
        <Notice kind="wait">{texts.gone(ids.length - runs.length)}</Notice>
      )}
      <Compared runs={runs} />
    </div>
  );
}

function Compared(props: { runs: readonly ComparedRun[] }) {
  const { values: texts } = useTexts();
  const search = useSearch({ from: "/inside/experiments/compare" });
  const navigate = useNavigate({ from: "/experiments/compare" });
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(
    () => props.runs.filter((run) => !hidden.has(run.id)),
    [props.runs, hidden],
  );
  const change = (to: Partial<typeof search>) => {
    void navigate({ search: (before) => ({ ...before, ...to }), replace: true });
  };
  const tab = search.tab ?? "charts";
  const tabs = (["charts", "values", "environment", "parallel", "scatter"] as const).map(
    (one) => [one, texts.tabs[one]] as const,
  );
  return (
    <div className={styles.sides}>
      <ul className={styles.runs} tabIndex={0} aria-label={texts.runs}>
        {props.runs.map((run) => {
          const isHidden = hidden.has(run.id);
          return (
            <li key={run.id} data-hidden={isHidden}>
              <button
                type="button"
                aria-pressed={!isHidden}
                aria-label={isHidden ? texts.show(run.name) : texts.hide(run.name)}
                onClick={() => {
                  const next = new Set(hidden);
                  if (isHidden) next.delete(run.id);
                  else next.add(run.id);
                  setHidden(next);
                }}
              >
                <span className="swatch" style={{ background: run.color }} />
              </button>
              <Link to="/experiments/$id" params={{ id: run.id }} title={run.name}>
                {run.name}
              </Link>
              <button
                type="button"
                aria-pressed={search.baseline === run.id}
                aria-label={texts.setBaseline(run.name)}
                title={texts.setBaseline(run.name)}
                onClick={() => {
                  change({ baseline: search.baseline === run.id ? undefined : run.id });
                }}
              >
                <Icon name="star" />
              </button>
              <button
                type="button"
                aria-label={texts.remove(run.name)}
                onClick={() => {
                  const left = props.runs.filter((one) => one.id !== run.id);
                  change({ runs: left.map((one) => one.id).join() });
                }}
              >
                <Icon name="close" />
              </button>
            </li>
          );
        })}
      </ul>
      <div className={styles.main}>
        <Tabs label={texts.compareTitle(props.runs.length)} tabs={tabs} shown={tab} />
        {tab === "charts" && (
          <RunCharts runs={shown} view={search} onView={change} baseline={search.baseline} />
        )}
        {tab === "values" && (
          <ValueTable
            runs={shown}
            baseline={props.runs.find((run) => run.id === search.baseline)}
            withSame={search.same ?? false}
            onWithSame={(same) => {
              change({ same: same || undefined });
            }}
          />
        )}
        {tab === "environment" && <EnvironmentDiff runs={shown} baseline={search.baseline} />}
        {tab === "parallel" && (
          <Parallel
            runs={shown}
            axes={search.axes}
            onAxes={(axes) => {
              change({ axes });
            }}
          />
        )}
        {tab === "scatter" && <Scatter runs={shown} x={search.x} y={search.y} onChange={change} />}
      </div>
    </div>
  );
}
