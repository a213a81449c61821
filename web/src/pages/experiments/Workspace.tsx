import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { RunSummary } from "@/api/runs";
import { colorOf } from "@/parts/chart/colors";
import type { ChartView } from "@/parts/chart/view";
import { DataTable, type Column, type Sort } from "@/parts/DataTable";
import { Icon } from "@/parts/Icon";
import { useIsDark } from "@/parts/theme";
import { useTexts } from "@/texts/language";
import { RunCharts } from "../compare/RunCharts";
import { usePlaces } from "./places";
import { MOST_COMPARED } from "./RunActions";
import styles from "./experiments.module.css";

const DRAWN_AT_FIRST = 20;

/** The list of runs beside their charts. The ticked ones are drawn; without a tick, the first of the list. */
export function Workspace(props: {
  rows: readonly RunSummary[];
  /** The column beside the name. */
  value: Column<RunSummary> | undefined;
  chosen: ReadonlySet<string>;
  onChosen: (ids: ReadonlySet<string>) => void;
  sort: Sort | undefined;
  onSort: (sort: Sort) => void;
  view: ChartView;
  onView: (view: ChartView) => void;
  baseline: string | undefined;
  onBaseline: (run: string | undefined) => void;
}) {
  const { rows, chosen, baseline, onBaseline } = props;
  const { runs: texts, values } = useTexts();
  const isDark = useIsDark();
  const drawn = useMemo(() => {
    const ticked = rows.filter((run) => chosen.has(run.id));
    return ticked.length ? ticked.slice(0, MOST_COMPARED) : rows.slice(0, DRAWN_AT_FIRST);
  }, [rows, chosen]);
  const places = usePlaces(drawn.map((run) => run.id));
  const runs = useMemo(
    () => drawn.map((run) => ({ ...run, color: colorOf(places.get(run.id) ?? 0, isDark) })),
    [drawn, places, isDark],
  );
  const colors = new Map(runs.map((run) => [run.id, run.color]));
  const name: Column<RunSummary> = {
    id: "name",
    title: texts.name,
    isClipped: true,
    sort: (run) => run.name,
    cell: (run) => (
      <span className={styles.runName}>
        <span
          className={styles.swatch}
          data-hidden={!colors.has(run.id)}
          style={{ background: colors.get(run.id) }}
        />
        <Link className="row-name" to="/experiments/$id" params={{ id: run.id }} title={run.name}>
          {run.name}
        </Link>
        <button
          type="button"
          className={styles.star}
          aria-pressed={baseline === run.id}
          aria-label={values.setBaseline(run.name)}
          title={values.setBaseline(run.name)}
          onClick={() => {
            onBaseline(baseline === run.id ? undefined : run.id);
          }}
        >
          <Icon name="star" />
        </button>
      </span>
    ),
  };
  return (
    <div className={styles.workspace}>
      <div className={styles.list}>
        <p className="muted small">{texts.shownOf(drawn.length, rows.length)}</p>
        <DataTable
          label={texts.title}
          rows={rows}
          columns={props.value ? [name, props.value] : [name]}
          rowId={(run) => run.id}
          sort={props.sort}
          onSort={props.onSort}
          selection={{
            ids: chosen.size ? chosen : new Set(drawn.map((run) => run.id)),
            onChange: props.onChosen,
            nameOf: (id) => rows.find((run) => run.id === id)?.name ?? id,
          }}
        />
        {chosen.size > MOST_COMPARED && <p className="muted small">{texts.mostDrawn}</p>}
      </div>
      <RunCharts runs={runs} view={props.view} onView={props.onView} baseline={baseline} />
    </div>
  );
}
