import { useQuery } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { keysQuery, useDeleteKey, useMakeKey } from "@/api/keys";
import { asProblem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Dialog, FormDialog } from "@/parts/Dialog";
import { Notice } from "@/parts/Empty";
import { TextField } from "@/parts/Field";
import { exportKey } from "@/parts/snippets";
import { Ago, Moment } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { KeyList } from "./KeyList";

export function KeysPanel() {
  const { profile: texts } = useTexts();
  return (
    <KeyList
      keys={useQuery(keysQuery)}
      words={{
        title: texts.keys,
        text: texts.keysText,
        empty: texts.noKeys,
        add: texts.makeKey,
        deleteTitle: texts.deleteKeyTitle,
        deleteText: texts.deleteKeyText,
        deleted: texts.keyDeleted,
      }}
      nameTitle={texts.keyName}
      name={(key) => key.name || "–"}
      fullName={(key) => key.name || key.id}
      columns={[
        { title: texts.keyId, isWideOnly: true, cell: (key) => <code>{key.id}</code> },
        { title: texts.created, isWideOnly: true, cell: (key) => <Ago at={key.created_at} /> },
        {
          title: texts.expires,
          cell: (key) => (key.expires_at ? <Moment at={key.expires_at} /> : texts.never),
        },
        {
          title: texts.lastUsed,
          cell: (key) => (key.last_used_at ? <Ago at={key.last_used_at} /> : texts.unused),
        },
      ]}
      remove={useDeleteKey()}
      dialog={(onClose) => <MakeKey onClose={onClose} />}
    />
  );
}

function MakeKey(props: { onClose: () => void }) {
  const { profile: texts, common } = useTexts();
  const make = useMakeKey();
  const problem = make.error ? asProblem(make.error) : undefined;
  if (make.data) {
    return (
      <Dialog title={texts.madeTitle} onClose={props.onClose}>
        <Notice kind="wait">{texts.madeText}</Notice>
        <Code text={make.data.api_key} isWrapped label={texts.madeTitle} />
        <p>{texts.madeUse}</p>
        <Code text={exportKey(location.origin, make.data.api_key)} label={texts.madeUse} />
        <div className="actions">
          <Button kind="primary" onClick={props.onClose}>
            {common.close}
          </Button>
        </div>
      </Dialog>
    );
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const days = String(form.get("days")).trim();
    make.mutate({
      name: String(form.get("name")),
      ...(days && { expires_in_days: Number(days) }),
      signs: false,
    });
  };
  return (
    <FormDialog
      title={texts.makeKey}
      action={texts.makeKey}
      fields={["name", "expires_in_days"]}
      error={make.error}
      isBusy={make.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField label={texts.keyName} name="name" wrong={problem?.fields.name} autoFocus />
      <TextField
        label={texts.keyDays}
        name="days"
        inputMode="numeric"
        isOptional
        hint={texts.keyDaysHint}
        wrong={problem?.fields.expires_in_days}
      />
    </FormDialog>
  );
}
