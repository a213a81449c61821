import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue, useMemo, useState } from "react";
import { useFavourites } from "@/api/favourites";
import { JOB_STATES, useJobChanges, useJobs } from "@/api/jobs";
import { useMe } from "@/api/session";
import { useProject } from "@/frame/ProjectPicker";
import { Button, buttonClass } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { DataTable, sorted, sortOf, sortText, type Sort } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { CheckField, SearchField } from "@/parts/Field";
import { Found, Incomplete } from "@/parts/Found";
import { Icon } from "@/parts/Icon";
import { Live } from "@/parts/Live";
import { Menu } from "@/parts/Menu";
import { RUN_COMMAND } from "@/parts/snippets";
import { useTexts } from "@/texts/language";
import { BulkActions } from "./BulkActions";
import { jobColumns, SHOWN_AT_FIRST } from "./columns";
import { matches, statesOf, wordsOf } from "./filter";

const NEWEST_FIRST: Sort = { by: "created", isDown: true };

export function JobsPage() {
  const all = useTexts();
  const { jobs: texts, common } = all;
  const search = useSearch({ from: "/inside/jobs" });
  const navigate = useNavigate({ from: "/jobs" });
  const project = useProject();
  const me = useMe();
  const stream = useJobChanges();
  const found = useJobs(statesOf(search.state));
  const favourites = useFavourites();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());

  const columns = useMemo(() => jobColumns(all), [all]);
  const shownIds = search.columns?.split(",") ?? SHOWN_AT_FIRST;
  const shown = columns.filter((column) => shownIds.includes(column.id));
  const sort = sortOf(search.sort) ?? NEWEST_FIRST;
  const q = useDeferredValue(search.q);
  const rows = useMemo(() => {
    const wanted = {
      project,
      owner: search.owner,
      words: wordsOf(q),
      favourites: search.favourites ? favourites : undefined,
    };
    const kept = (found.data?.items ?? []).filter((row) => matches(row, wanted));
    return sorted(kept, columns, sort);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `search.sort` stands for `sort`
  }, [found.data, project, search.owner, search.favourites, favourites, q, columns, search.sort]);

  const change = (to: Partial<typeof search>) => {
    void navigate({ search: (before) => ({ ...before, ...to }), replace: true });
  };
  const isFiltered = Boolean(
    search.state ?? search.q ?? search.owner ?? search.favourites ?? project,
  );
  const total = found.data?.items.length ?? 0;
  const { rest } = found;
  const isLoadingRest = found.data && !rest.isComplete && !rest.isFull && !rest.error;
  const selected = rows.filter((row) => chosen.has(row.id));

  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
        <Live state={stream} />
        <span className="muted number">
          {found.data &&
            (rows.length === total ? texts.count(total) : texts.countOf(rows.length, total))}
          {isLoadingRest && ` · ${common.loadingMore}`}
        </span>
        <div className="actions">
          <Link to="/submit" className={buttonClass("primary")}>
            <Icon name="plus" />
            {texts.submit}
          </Link>
        </div>
      </div>
      <div className="toolbar">
        <SearchField
          label={texts.search}
          value={search.q ?? ""}
          onChange={(event) => {
            change({ q: event.target.value || undefined });
          }}
        />
        <select
          className="input fit"
          aria-label={texts.states}
          value={search.state ?? ""}
          onChange={(event) => {
            change({ state: event.target.value || undefined });
          }}
        >
          <option value="">{texts.anyState}</option>
          <option value="open">{texts.open}</option>
          {JOB_STATES.map((state) => (
            <option key={state} value={state}>
              {all.states[state]}
            </option>
          ))}
        </select>
        <select
          className="input fit"
          aria-label={texts.owner}
          value={search.owner ?? ""}
          onChange={(event) => {
            change({ owner: event.target.value || undefined });
          }}
        >
          <option value="">{texts.anyone}</option>
          <option value={me.name}>{texts.mine}</option>
          {search.owner !== undefined && search.owner !== me.name && (
            <option value={search.owner}>{search.owner}</option>
          )}
        </select>
        <Button
          icon="star"
          aria-pressed={search.favourites === true}
          onClick={() => {
            change({ favourites: search.favourites ? undefined : true });
          }}
        >
          {texts.favourites}
        </Button>
        <Menu label={texts.columns} icon="columns" shown={texts.columns} isSticky>
          {columns.map((column) => (
            <CheckField
              key={column.id}
              label={column.title}
              checked={shownIds.includes(column.id)}
              onChange={(event) => {
                const ids = columns
                  .map((one) => one.id)
                  .filter((id) =>
                    id === column.id ? event.target.checked : shownIds.includes(id),
                  );
                const isUsual = ids.join() === usual(columns);
                change({ columns: isUsual ? undefined : ids.join() });
              }}
            />
          ))}
        </Menu>
        {selected.length > 0 && (
          <BulkActions
            jobs={selected}
            onDone={() => {
              setChosen(new Set());
            }}
          />
        )}
      </div>
      <Incomplete rest={rest} count={total} />
      <Found of={found} lines={10}>
        {() =>
          rows.length ? (
            <DataTable
              label={texts.title}
              rows={rows}
              columns={shown}
              rowId={(row) => row.id}
              sort={sort}
              onSort={(next) => {
                change({ sort: sortText(next) });
              }}
              selection={{
                ids: chosen,
                onChange: setChosen,
                nameOf: (id) => rows.find((row) => row.id === id)?.name ?? id,
              }}
            />
          ) : isFiltered ? (
            <div className="panel">
              <Empty
                icon="filter"
                title={texts.noMatchTitle}
                actions={
                  <Button onClick={() => void navigate({ search: {} })}>
                    {texts.clearFilters}
                  </Button>
                }
              >
                <p>{texts.noMatchText}</p>
              </Empty>
            </div>
          ) : (
            <div className="panel">
              <Empty
                icon="jobs"
                title={texts.emptyTitle}
                actions={
                  <Link to="/examples" className={buttonClass()}>
                    <Icon name="book" />
                    {all.examples.title}
                  </Link>
                }
              >
                <p>{texts.emptyText}</p>
                <Code text={RUN_COMMAND} />
              </Empty>
            </div>
          )
        }
      </Found>
    </div>
  );
}

function usual(columns: readonly { id: string }[]): string {
  return columns
    .map((column) => column.id)
    .filter((id) => SHOWN_AT_FIRST.includes(id))
    .join();
}
