import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRuns, type RunSummary } from "@/api/runs";
import { useProject } from "@/frame/ProjectPicker";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { DataTable, sorted, sortOf, sortText } from "@/parts/DataTable";
import { Empty, Notice } from "@/parts/Empty";
import { Segments } from "@/parts/Field";
import { Found, Incomplete } from "@/parts/Found";
import { Live } from "@/parts/Live";
import { saveAs } from "@/parts/saving";
import { LOG_METRICS } from "@/parts/snippets";
import { useTexts } from "@/texts/language";
import { ViewsMenu } from "../views/ViewsMenu";
import { ColumnPicker } from "./ColumnPicker";
import { ownColumns, usualColumns, valueColumn } from "./columns";
import { tableAsCsv } from "./export";
import { FilterField, FilterProblem, isFilterProblem } from "./FilterField";
import { wantedOf } from "./filter";
import { FolderArtifacts } from "./FolderArtifacts";
import { FolderTree } from "./FolderTree";
import { RunActions } from "./RunActions";
import { useSelection } from "./selection";
import { Workspace } from "./Workspace";
import styles from "./experiments.module.css";

const NONE: readonly RunSummary[] = [];
const USUALLY_PINNED = ["name"];

export function ExperimentsPage() {
  const all = useTexts();
  const { runs: texts, common } = all;
  const search = useSearch({ from: "/inside/experiments" });
  const navigate = useNavigate({ from: "/experiments" });
  const project = useProject();
  const found = useRuns(wantedOf(search));
  const [chosen, setChosen] = useSelection(search.selected, (selected) => {
    void navigate({ search: (before) => ({ ...before, selected }), replace: true });
  });

  const items = found.data?.items ?? NONE;
  const inProject = useMemo(
    () => (project === undefined ? items : items.filter((run) => run.project === project)),
    [items, project],
  );
  const own = useMemo(() => ownColumns(all), [all]);
  // by the newest runs only: it must not change while the others arrive
  const usual = useMemo(() => usualColumns(inProject.slice(0, 100)), [inProject]);
  const shownIds = search.columns ?? usual;
  const columnsKey = shownIds.join("\n");
  const baseline = items.find((run) => run.id === search.baseline);
  const pinned = search.fixed ?? USUALLY_PINNED;
  const pinnedKey = pinned.join("\n");
  const columns = useMemo(() => {
    const isPinned = new Set(pinnedKey.split("\n"));
    const found = columnsKey
      .split("\n")
      .map((id) => own.find((column) => column.id === id) ?? valueColumn(id, baseline));
    return [
      ...found.filter((column) => isPinned.has(column.id)),
      ...found.filter((column) => !isPinned.has(column.id)),
    ];
  }, [columnsKey, pinnedKey, own, baseline]);
  const sort = sortOf(search.sort);
  const rows = useMemo(
    () => sorted(inProject, [...own, ...columns], sort),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `search.sort` stands for `sort`
    [inProject, own, columns, search.sort],
  );
  const change = (to: Partial<typeof search>) => {
    void navigate({ search: (before) => ({ ...before, ...to }), replace: true });
  };
  const selected = rows.filter((run) => chosen.has(run.id));
  const isBin = search.bin ?? false;
  const isCharts = search.show === "charts" && !isBin;
  const isWrong = found.error !== null && isFilterProblem(found.error);
  const { rest } = found;
  const isLoadingRest = found.data && !isWrong && !rest.isComplete && !rest.isFull && !rest.error;

  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
        <span className="muted number">
          {found.data && !found.error && texts.count(rows.length)}
          {isLoadingRest && ` · ${common.loadingMore}`}
        </span>
        {!isWrong && <Live state={found.stream} />}
      </div>
      <div className={isCharts ? styles.alone : styles.sides}>
        {!isCharts && <FolderTree folder={search.folder} isBin={isBin} />}
        <div className={styles.main}>
          {isBin && <Notice icon="trash">{texts.binText}</Notice>}
          <div className="toolbar">
            <FilterField
              value={search.q ?? ""}
              onChange={(q) => {
                change({ q: q || undefined });
              }}
            />
            <Segments
              label={texts.show}
              value={isCharts ? "charts" : "table"}
              choices={[
                ["table", texts.table],
                ["charts", texts.charts],
              ]}
              onChange={(show) => {
                change({ show: show === "charts" ? show : undefined });
              }}
            />
            <ColumnPicker
              runs={inProject}
              own={own}
              shown={shownIds}
              pinned={pinned}
              onShown={(ids) => {
                change({ columns: ids });
              }}
              onPinned={(fixed) => {
                change({ fixed });
              }}
            />
            <ViewsMenu
              page="experiments"
              search={search}
              project={project}
              onSaved={(view) => {
                change({ view: view.id });
              }}
            />
            <Button
              icon="download"
              disabled={!rows.length}
              onClick={() => {
                saveAs(new Blob([tableAsCsv(rows, columns)]), "runs.csv");
              }}
            >
              {texts.exportTable}
            </Button>
            {baseline && (
              <Button
                icon="close"
                title={texts.noBaseline}
                onClick={() => {
                  change({ baseline: undefined });
                }}
              >
                {texts.baselineIs(baseline.name)}
              </Button>
            )}
            {selected.length > 0 && (
              <RunActions
                runs={selected}
                isBin={isBin}
                onBaseline={(run) => {
                  change({ baseline: run });
                }}
                onDone={() => {
                  setChosen(new Set());
                }}
              />
            )}
          </div>
          <Incomplete rest={rest} count={items.length} />
          {isWrong && <FilterProblem error={found.error} />}
          {!isWrong && (
            <Found of={found} lines={10}>
              {() =>
                rows.length ? (
                  isCharts ? (
                    <Workspace
                      rows={rows}
                      value={columns.find((column) => column.id.includes("metrics."))}
                      chosen={chosen}
                      onChosen={setChosen}
                      sort={sort}
                      onSort={(next) => {
                        change({ sort: sortText(next) });
                      }}
                      view={search}
                      onView={change}
                      baseline={baseline?.id}
                      onBaseline={(run) => {
                        change({ baseline: run });
                      }}
                    />
                  ) : (
                    <DataTable
                      label={texts.title}
                      rows={rows}
                      columns={columns}
                      rowId={(run) => run.id}
                      sort={sort}
                      onSort={(next) => {
                        change({ sort: sortText(next) });
                      }}
                      selection={{
                        ids: chosen,
                        onChange: setChosen,
                        nameOf: (id) => rows.find((run) => run.id === id)?.name ?? id,
                      }}
                      numPinned={columns.filter((column) => pinned.includes(column.id)).length}
                    />
                  )
                ) : (
                  <div className="panel">
                    <NoRuns
                      isFiltered={Boolean(search.q ?? search.folder ?? project)}
                      isBin={isBin}
                      onClear={() => void navigate({ search: {} })}
                    />
                  </div>
                )
              }
            </Found>
          )}
          {search.folder && !isBin && !isCharts && (
            <FolderArtifacts folder={search.folder} project={project} />
          )}
        </div>
      </div>
    </div>
  );
}

function NoRuns(props: { isFiltered: boolean; isBin: boolean; onClear: () => void }) {
  const { runs: texts } = useTexts();
  if (props.isFiltered)
    return (
      <Empty
        icon="filter"
        title={texts.noMatchTitle}
        actions={<Button onClick={props.onClear}>{texts.clearFilters}</Button>}
      >
        <p>{texts.noMatchText}</p>
      </Empty>
    );
  if (props.isBin) return <Empty icon="trash" title={texts.emptyBin} />;
  return (
    <Empty icon="experiments" title={texts.emptyTitle}>
      <p>{texts.emptyText}</p>
      <Code text={LOG_METRICS} />
    </Empty>
  );
}
