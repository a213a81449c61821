import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import type { Schemas } from "@/api/client";
import { projectQuery, quotasQuery, useSetQuotas } from "@/api/people";
import { useMe } from "@/api/session";
import { Button } from "@/parts/Button";
import { DataTable } from "@/parts/DataTable";
import { FormDialog } from "@/parts/Dialog";
import { Loading, Problem } from "@/parts/Empty";
import { AreaField, SelectField } from "@/parts/Field";
import { useMessages } from "@/parts/Messages";
import { showBytes, showNumber } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import { BadLine, parseAmounts, showAmounts, type Amounts } from "./amounts";

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
        <SetDialog
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
  const show = (quota: Quota, value: number | null | undefined) => {
    if (value == null) return <span className="faint">{texts.noLimit}</span>;
    return quota.resource === "memory" ? showBytes(value) : showNumber(value);
  };
  return (
    <DataTable
      label={props.label}
      rows={props.quotas}
      rowId={(quota) => quota.resource}
      columns={[
        { id: "resource", title: texts.resource, cell: (quota) => quota.resource },
        { id: "used", title: texts.used, isEnd: true, cell: (quota) => show(quota, quota.used) },
        { id: "quota", title: texts.quota, isEnd: true, cell: (quota) => show(quota, quota.quota) },
        { id: "free", title: texts.free, isEnd: true, cell: (quota) => show(quota, quota.free) },
      ]}
    />
  );
}

function SetDialog(props: { quotas: Schemas["QuotasOut"]; onClose: () => void }) {
  const { quotas } = props;
  const { admin: texts, common } = useTexts();
  const me = useMe();
  const { say } = useMessages();
  const set = useSetQuotas(quotas.project);
  const { data: project } = useQuery(projectQuery(quotas.project));
  const people = (project?.members ?? []).map((member) => member.name);
  // only admins decide about the whole project
  const [of, setOf] = useState(me.is_admin ? "" : (people[0] ?? me.name));
  const known = (who: string) =>
    showAmounts(
      who === "" ? quotas.quotas : (quotas.users.find((one) => one.user === who)?.quotas ?? []),
    );
  const [text, setText] = useState(known(of));
  const [wrong, setWrong] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    let amounts: Amounts;
    try {
      amounts = parseAmounts(text);
    } catch (error) {
      if (!(error instanceof BadLine)) throw error;
      setWrong(texts.badLine(error.message));
      return;
    }
    setWrong(undefined);
    set.mutate(of === "" ? { project: amounts } : { users: { [of]: amounts } }, {
      onSuccess: () => {
        say(texts.quotasSet);
        props.onClose();
      },
    });
  };
  const choices = [
    ...(me.is_admin ? [["", texts.wholeProject] as const] : []),
    ...people.map((name) => [name, name] as const),
  ];
  return (
    <FormDialog
      title={texts.setQuotas}
      action={common.save}
      fields={[]}
      error={set.error}
      isBusy={set.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <SelectField
        label={texts.quotaOf}
        value={of}
        choices={choices}
        onChange={(event) => {
          setOf(event.target.value);
          setText(known(event.target.value));
        }}
      />
      <AreaField
        label={texts.amounts}
        hint={texts.amountsHint}
        isCode
        rows={5}
        value={text}
        wrong={wrong}
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
    </FormDialog>
  );
}
