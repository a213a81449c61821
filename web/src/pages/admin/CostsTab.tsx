import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { costsQuery } from "@/api/costs";
import { DataTable, type Column } from "@/parts/DataTable";
import { SelectField, TextField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { showMoney } from "@/parts/money";
import { startOfDay } from "@/parts/time";
import { useLocale, useTexts, type Texts } from "@/texts/language";
import styles from "./admin.module.css";
import { COSTS_BY, summed, totals, type CostSum, type CostsBy } from "./costs";

/** What jobs cost so far, by project and user. What is asked for is in the address. */
export function CostsTab() {
  const { admin: texts } = useTexts();
  const locale = useLocale();
  const search = useSearch({ from: "/inside/admin" });
  const navigate = useNavigate({ from: "/admin" });
  const by = search.by ?? "both";
  const found = useQuery(
    costsQuery({
      since: search.since && startOfDay(search.since),
      until: search.until && startOfDay(search.until, 1),
    }),
  );
  const change = (to: Partial<typeof search>) => {
    void navigate({ search: (before) => ({ ...before, ...to }), replace: true });
  };
  return (
    <>
      <p className="muted">{texts.costsText}</p>
      <div className={styles.filters}>
        <SelectField
          label={texts.costsBy}
          value={by}
          choices={COSTS_BY.map((one) => [one, texts.costsByWhat[one]] as const)}
          onChange={(event) => {
            const chosen = COSTS_BY.find((one) => one === event.target.value);
            change({ by: chosen === "both" ? undefined : chosen });
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
      <Found of={found} lines={6}>
        {(costs) =>
          costs.items.length ? (
            <>
              <p>
                {texts.costsTotal}{" "}
                {totals(costs.items).map(([currency, cost]) => (
                  <strong key={currency} className="number">
                    {showMoney(cost, currency, locale)}{" "}
                  </strong>
                ))}
              </p>
              <DataTable
                label={texts.tabs.costs}
                rows={summed(costs.items, by)}
                columns={costColumns(texts, by, locale)}
                rowId={(row) => JSON.stringify([row.project, row.user, row.currency])}
              />
            </>
          ) : (
            <p className="muted">{texts.noCosts}</p>
          )
        }
      </Found>
    </>
  );
}

function costColumns(texts: Texts["admin"], by: CostsBy, locale: string): Column<CostSum>[] {
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
  const project: Column<CostSum> = {
    id: "project",
    title: texts.project,
    cell: (row) => row.project,
  };
  const user: Column<CostSum> = { id: "user", title: texts.person, cell: (row) => row.user };
  return [
    ...(by === "user" ? [] : [project]),
    ...(by === "project" ? [] : [user]),
    { id: "jobs", title: texts.numJobs, isEnd: true, cell: (row) => number.format(row.jobs) },
    { id: "hours", title: texts.hours, isEnd: true, cell: (row) => number.format(row.hours) },
    {
      id: "cost",
      title: texts.cost,
      isEnd: true,
      cell: (row) => showMoney(row.cost, row.currency, locale),
    },
  ];
}
