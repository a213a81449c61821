import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { auditQuery, type AuditEvent, type AuditWanted } from "@/api/people";
import { DataTable, type Column } from "@/parts/DataTable";
import { SelectField, TextField } from "@/parts/Field";
import { Found, More } from "@/parts/Found";
import { naturally } from "@/parts/order";
import { Ago, startOfDay } from "@/parts/time";
import { useTexts, type Texts } from "@/texts/language";
import { ACTIONS, actionName } from "./actions";
import { detailsOf } from "./details";
import styles from "./admin.module.css";

/** Changes, newest first. The filters are in the address. */
export function AuditTable(props: { project?: string }) {
  const all = useTexts();
  const { admin: texts, actions } = all;
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  const wanted: AuditWanted = {
    person: search.person,
    object: search.object,
    action: ACTIONS.find((one) => one === search.action),
    since: search.since && startOfDay(search.since),
    until: search.until && startOfDay(search.until, 1),
    project: props.project,
  };
  const found = useInfiniteQuery(auditQuery(wanted));
  const change = (to: Record<string, string | undefined>) => {
    void navigate({
      to: ".",
      search: (before: Record<string, unknown>) => ({ ...before, ...to }) as never,
      replace: true,
    });
  };
  const rows = (found.data?.pages ?? []).flatMap((page) => page.items);
  return (
    <>
      <p className="muted">{texts.auditText}</p>
      <div className={styles.filters}>
        <TextField
          label={texts.person}
          placeholder={texts.anyPerson}
          defaultValue={search.person ?? ""}
          onBlur={(event) => {
            change({ person: event.target.value.trim() || undefined });
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter")
              change({ person: event.currentTarget.value.trim() || undefined });
          }}
        />
        <SelectField
          label={texts.action}
          value={wanted.action ?? ""}
          choices={[["", texts.anyAction], ...byName(actions)]}
          onChange={(event) => {
            change({ action: event.target.value || undefined });
          }}
        />
        <TextField
          label={texts.object}
          placeholder="job/train-12"
          defaultValue={search.object ?? ""}
          onBlur={(event) => {
            change({ object: event.target.value.trim() || undefined });
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter")
              change({ object: event.currentTarget.value.trim() || undefined });
          }}
        />
        <TextField
          label={texts.since}
          type="date"
          value={search.since ?? ""}
          onChange={(event) => {
            change({ since: event.target.value || undefined });
          }}
        />
        <TextField
          label={texts.until}
          type="date"
          value={search.until ?? ""}
          onChange={(event) => {
            change({ until: event.target.value || undefined });
          }}
        />
      </div>
      <Found of={found} lines={8}>
        {() =>
          rows.length ? (
            <DataTable
              label={texts.audit}
              rows={rows}
              columns={auditColumns(all)}
              rowId={(event) => String(event.id)}
            />
          ) : (
            <p className="muted">{texts.noEvents}</p>
          )
        }
      </Found>
      <More of={found} />
    </>
  );
}

/** Actions in the order of their names. */
function byName(actions: Texts["actions"]): [code: string, name: string][] {
  return ACTIONS.map((one): [string, string] => [one, actionName(one, actions)]).sort(
    ([, a], [, b]) => naturally(a, b),
  );
}

function auditColumns(all: Texts): Column<AuditEvent>[] {
  const { admin: texts, actions } = all;
  return [
    { id: "at", title: texts.at, cell: (event) => <Ago at={event.at} /> },
    { id: "actor", title: texts.actor, cell: (event) => event.actor || "–" },
    {
      id: "action",
      title: texts.action,
      cell: (event) => (
        <>
          <span title={event.action}>{actionName(event.action, actions)}</span>{" "}
          {event.count > 1 && <span className="tag">{texts.times(event.count)}</span>}
        </>
      ),
    },
    {
      id: "object",
      title: texts.object,
      isClipped: true,
      cell: (event) => <span title={event.object}>{event.object}</span>,
    },
    {
      id: "project",
      title: texts.project,
      isWideOnly: true,
      cell: (event) => event.project ?? "–",
    },
    { id: "address", title: texts.address, isWideOnly: true, cell: (event) => event.address },
    {
      id: "details",
      title: texts.details,
      isClipped: true,
      isWideOnly: true,
      cell: (event) => {
        const told = detailsOf(event.details, all);
        return (
          <span className="muted" title={told}>
            {told || "–"}
          </span>
        );
      },
    },
  ];
}
