import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { addressOf } from "@/api/client";
import { asProblem } from "@/api/problem";
import { useChangeRun, useDeleteRuns, useRestoreRuns, type Run } from "@/api/runs";
import { Button, buttonClass } from "@/parts/Button";
import { Confirm, FormDialog } from "@/parts/Dialog";
import { AreaField, TextField } from "@/parts/Field";
import { Icon } from "@/parts/Icon";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

/** What can be done with a run. */
export function RunMenu(props: { run: Run }) {
  const { run } = props;
  const { runs: texts } = useTexts();
  const { say, complain } = useMessages();
  const [asked, setAsked] = useState<"edit" | "delete">();
  const remove = useDeleteRuns();
  const restore = useRestoreRuns();
  const navigate = useNavigate();
  const isBin = run.deleted_at != null;
  const close = () => {
    setAsked(undefined);
  };
  return (
    <div className="actions">
      <a
        className={buttonClass()}
        href={addressOf("/api/v1/runs/{run}/export", { run: run.id }, { format: "csv" })}
        download
      >
        <Icon name="download" />
        {texts.export}
      </a>
      {isBin ? (
        <Button
          icon="again"
          isBusy={restore.isPending}
          onClick={() => {
            restore.mutate([run.id], {
              onSuccess: () => {
                say(texts.restored(1));
              },
              onError: complain,
            });
          }}
        >
          {texts.restore}
        </Button>
      ) : (
        <Button
          icon="edit"
          onClick={() => {
            setAsked("edit");
          }}
        >
          {texts.edit}
        </Button>
      )}
      <Button
        icon="trash"
        label={isBin ? texts.purge : texts.toBin}
        onClick={() => {
          setAsked("delete");
        }}
      />
      {asked === "edit" && <EditDialog run={run} onClose={close} />}
      {asked === "delete" && (
        <Confirm
          title={isBin ? texts.purgeTitle(1) : texts.toBinTitle(1)}
          names={[`${run.name} (${run.id})`]}
          text={isBin ? texts.purgeText : texts.toBinText}
          action={isBin ? texts.purge : texts.toBin}
          isDanger
          isBusy={remove.isPending}
          onClose={close}
          onConfirm={() => {
            remove.mutate(
              { runs: [run.id], purge: isBin },
              {
                onSuccess: () => {
                  if (isBin) say(texts.purged(1));
                  else
                    say(texts.binned(1), () => {
                      restore.mutateAsync([run.id]).catch(complain);
                    });
                  void navigate({ to: "/experiments" });
                },
                onError: complain,
              },
            );
          }}
        />
      )}
    </div>
  );
}

function EditDialog(props: { run: Run; onClose: () => void }) {
  const { run } = props;
  const { runs: texts, common } = useTexts();
  const { say } = useMessages();
  const change = useChangeRun();
  const problem = change.error ? asProblem(change.error) : undefined;
  const fields = problem?.fields ?? {};
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name));
    change.mutate(
      {
        run: run.id,
        name: text("name"),
        folder: text("folder"),
        description: text("description"),
        labels: text("labels")
          .split(/[,，]/)
          .map((label) => label.trim())
          .filter(Boolean),
      },
      {
        onSuccess: () => {
          say(texts.saved);
          props.onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={texts.editTitle}
      action={common.save}
      fields={["name", "folder", "labels", "description"]}
      error={change.error}
      isBusy={change.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.name}
        name="name"
        defaultValue={run.name}
        required
        wrong={fields.name}
      />
      <TextField
        label={texts.folder}
        name="folder"
        defaultValue={run.folder}
        hint={texts.moveHint}
        wrong={fields.folder}
      />
      <TextField
        label={texts.labels}
        name="labels"
        defaultValue={(run.labels ?? []).join(", ")}
        hint={texts.labelsHint}
        wrong={fields.labels}
      />
      <AreaField
        label={texts.description}
        name="description"
        rows={4}
        defaultValue={run.description}
        wrong={fields.description}
      />
    </FormDialog>
  );
}
