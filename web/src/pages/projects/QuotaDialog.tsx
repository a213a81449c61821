import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import type { Schemas } from "@/api/client";
import { nodesQuery } from "@/api/nodes";
import { projectQuery, useSetQuotas } from "@/api/people";
import { asProblem } from "@/api/problem";
import { useMe } from "@/api/session";
import { FormDialog } from "@/parts/Dialog";
import { Notice } from "@/parts/Empty";
import { SelectField, TextField } from "@/parts/Field";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { amountsOf, lifted, MEMORY, resourcesOf, typedOf } from "./amounts";

/** One field per resource: what is left as it is stays as it is, and what is emptied is said to be lifted. */
export function QuotaDialog(props: { quotas: Schemas["QuotasOut"]; onClose: () => void }) {
  const { quotas } = props;
  const { admin: texts, common } = useTexts();
  const me = useMe();
  const { say } = useMessages();
  const set = useSetQuotas(quotas.project);
  const { data: project } = useQuery(projectQuery(quotas.project));
  const { data: nodes } = useQuery(nodesQuery);
  const people = (project?.members ?? []).map((member) => member.name);
  // only admins decide about the whole project
  const [of, setOf] = useState(me.is_admin ? "" : me.name);
  const known =
    of === "" ? quotas.quotas : (quotas.users.find((one) => one.user === of)?.quotas ?? []);
  const [changed, setChanged] = useState<Readonly<Record<string, string>>>({});
  const typed = { ...typedOf(known), ...changed };
  const types = (nodes ?? []).flatMap((node) => (node.devices ?? []).map((device) => device.type));
  const gone = lifted(known, typed);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const amounts = amountsOf(typed);
    set.mutate(of === "" ? { project: amounts } : { users: { [of]: amounts } }, {
      onSuccess: () => {
        say(texts.quotasSet);
        props.onClose();
      },
    });
  };
  const problem = set.error ? asProblem(set.error) : undefined;
  const wrongOf = (resource: string) =>
    problem?.fields[of === "" ? `project.${resource}` : `users.${of}.${resource}`];
  const resources = resourcesOf(types, known);
  const choices = [
    ...(me.is_admin ? [["", texts.wholeProject] as const] : []),
    ...people.map((name) => [name, name] as const),
  ];
  return (
    <FormDialog
      title={texts.setQuotasOf(quotas.project)}
      action={common.save}
      fields={resources.flatMap((one) => [`project.${one}`, `users.${of}.${one}`])}
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
          setChanged({});
        }}
      />
      {resources.map((resource) => (
        <TextField
          key={`${of} ${resource}`}
          label={resource}
          placeholder={texts.noLimit}
          hint={resource === MEMORY ? texts.memoryHint : undefined}
          autoComplete="off"
          value={typed[resource] ?? ""}
          wrong={wrongOf(resource)}
          onChange={(event) => {
            setChanged({ ...changed, [resource]: event.target.value });
            if (set.error) set.reset();
          }}
        />
      ))}
      {gone.length > 0 && <Notice kind="wait">{texts.limitsLifted(gone.join(", "))}</Notice>}
    </FormDialog>
  );
}
