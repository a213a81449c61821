import { useQuery } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { sshKeysQuery, useAddSshKey, useRemoveSshKey } from "@/api/endpoints";
import { asProblem } from "@/api/problem";
import { FormDialog } from "@/parts/Dialog";
import { TextField } from "@/parts/Field";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { KeyList } from "./KeyList";

export function SshKeysPanel() {
  const { endpoints: texts, profile } = useTexts();
  return (
    <KeyList
      keys={useQuery(sshKeysQuery)}
      words={{
        title: texts.keys,
        text: texts.keysText,
        empty: texts.noKeys,
        add: texts.addKey,
        deleteTitle: texts.removeTitle,
        deleteText: texts.removeText,
        deleted: texts.removed,
      }}
      nameTitle={texts.keyName}
      name={(key) => key.name || key.kind}
      fullName={(key) => key.name || key.fingerprint}
      columns={[
        {
          title: texts.fingerprint,
          isWideOnly: true,
          cell: (key) => <code>{key.fingerprint}</code>,
        },
        {
          title: profile.lastUsed,
          cell: (key) => (key.last_used_at ? <Ago at={key.last_used_at} /> : profile.unused),
        },
      ]}
      remove={useRemoveSshKey()}
      dialog={(onClose) => <AddKey onClose={onClose} />}
    />
  );
}

function AddKey(props: { onClose: () => void }) {
  const { endpoints: texts } = useTexts();
  const add = useAddSshKey();
  const problem = add.error ? asProblem(add.error) : undefined;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    add.mutate(
      { public_key: String(form.get("public_key")), name: String(form.get("name")).trim() },
      { onSuccess: props.onClose },
    );
  };
  return (
    <FormDialog
      title={texts.addKey}
      action={texts.addKey}
      fields={["public_key", "name"]}
      error={add.error}
      isBusy={add.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.publicKey}
        name="public_key"
        hint={texts.publicKeyHint}
        wrong={problem?.fields.public_key}
        required
        autoFocus
      />
      <TextField label={texts.keyName} name="name" isOptional wrong={problem?.fields.name} />
    </FormDialog>
  );
}
