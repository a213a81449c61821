import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { quotasQuery } from "@/api/people";
import { Button } from "@/parts/Button";
import { DataTable } from "@/parts/DataTable";
import { Loading, Problem } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import { showQuota } from "./amounts";
import { QuotaDialog } from "./QuotaDialog";

type Quota = Schemas["QuotaOut"];

/** How much a project and its people may hold, and how much of it is in use. */
export function Quotas(props: { project: string; isOwner: boolean }) {
  const { admin: texts } = useTexts();
  const { data, error, refetch } = useQuery(quotasQuery(props.project));
  const [isSetting, setIsSetting] = useState(false);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <>
      {props.isOwner && (
        <div>
          <Button
            icon="edit"
            onClick={() => {
              setIsSetting(true);
            }}
          >
            {texts.setQuotas}
          </Button>
        </div>
      )}
      {!data.quotas.length && !data.users.length && <p className="muted">{texts.nothingUsed}</p>}
      {data.quotas.length > 0 && <QuotaTable label={texts.wholeProject} quotas={data.quotas} />}
      {data.users.map((one) => (
        <section key={one.user} className="panel">
          <div className="panel-head">
            <h2>{one.user}</h2>
          </div>
          <QuotaTable label={one.user} quotas={one.quotas} />
        </section>
      ))}
      {isSetting && (
        <QuotaDialog
          quotas={data}
          onClose={() => {
            setIsSetting(false);
          }}
        />
      )}
    </>
  );
}

function QuotaTable(props: { label: string; quotas: readonly Quota[] }) {
  const { admin: texts } = useTexts();
  const show = (quota: Quota, value: number | null | undefined) =>
    value == null ? (
      <span className="faint">{texts.noLimit}</span>
    ) : (
      showQuota(quota.resource, value)
    );
  return (
    <DataTable
      label={props.label}
      rows={props.quotas}
      rowId={(quota) => quota.resource}
      columns={[
        { id: "resource", title: texts.resource, cell: (quota) => quota.resource },
        {
          id: "used",
          title: texts.used,
          isEnd: true,
          cell: (quota) => (
            <>
              {show(quota, quota.used)}
              {quota.used > quota.firm && (
                <span className="muted">
                  {" "}
                  ({texts.ofItPreemptible(showQuota(quota.resource, quota.used - quota.firm))})
                </span>
              )}
            </>
          ),
        },
        { id: "quota", title: texts.quota, isEnd: true, cell: (quota) => show(quota, quota.quota) },
        {
          id: "free",
          title: texts.free,
          isEnd: true,
          cell: (quota) => show(quota, quota.quota == null ? null : unused(quota)),
        },
        {
          id: "guaranteed",
          title: texts.forGuaranteed,
          isEnd: true,
          isWideOnly: true,
          cell: (quota) => show(quota, quota.free),
        },
      ]}
    />
  );
}

function unused(quota: Quota): number {
  return Math.max(0, (quota.quota ?? 0) - quota.used);
}
