import type { FormEvent } from "react";
import { useAddWebhook, type EventKind } from "@/api/notices";
import { asProblem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Dialog, FormDialog } from "@/parts/Dialog";
import { Notice } from "@/parts/Empty";
import { CheckField, TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import { EVENTS } from "./NoticesPanel";

const USUAL: readonly EventKind[] = ["job.succeeded", "job.failed", "alert.opened"];

export function AddWebhook(props: { onClose: () => void }) {
  const { notices: texts, common } = useTexts();
  const add = useAddWebhook();
  const problem = add.error ? asProblem(add.error) : undefined;
  if (add.data) {
    return (
      <Dialog title={texts.secretTitle} onClose={props.onClose}>
        <Notice kind="wait">{texts.secretText}</Notice>
        <Code text={add.data.secret} isWrapped label={texts.secretTitle} />
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
    const kinds = EVENTS.filter((kind) => form.get(kind) !== null);
    add.mutate({ url: String(form.get("url")).trim(), kinds, scope: "mine" });
  };
  return (
    <FormDialog
      title={texts.addWebhook}
      action={texts.addWebhook}
      fields={["url"]}
      error={add.error}
      isBusy={add.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.url}
        name="url"
        hint={texts.urlHint}
        wrong={problem?.fields.url}
        required
        autoFocus
      />
      {EVENTS.map((kind) => (
        <CheckField
          key={kind}
          name={kind}
          label={texts.kinds[kind]}
          defaultChecked={USUAL.includes(kind)}
        />
      ))}
    </FormDialog>
  );
}
