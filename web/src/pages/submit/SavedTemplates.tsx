import { useQuery } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { asProblem } from "@/api/problem";
import { useMe } from "@/api/session";
import { templatesQuery, useDeleteTemplate, useSaveTemplate, type Template } from "@/api/templates";
import { Button } from "@/parts/Button";
import { Confirm, FormDialog } from "@/parts/Dialog";
import { ProblemLine } from "@/parts/Empty";
import { CheckField, TextField } from "@/parts/Field";
import { Menu } from "@/parts/Menu";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import styles from "./submit.module.css";

/** Saved templates, the user's own first. Nothing when there are none. */
export function SavedTemplates(props: {
  onChoose: (template: Template) => void;
  onDelete: (template: Template) => void;
}) {
  const { submit: texts } = useTexts();
  const me = useMe();
  const { data, error, refetch } = useQuery(templatesQuery);
  const isMine = (one: Template) => one.owner === me.name;
  const found = [...(data ?? [])].sort(
    (a, b) => Number(isMine(b)) - Number(isMine(a)) || a.name.localeCompare(b.name),
  );
  if (error) return <ProblemLine error={error} onRetry={() => void refetch()} />;
  if (!found.length) return null;
  return (
    <Menu label={texts.saved} icon="folder" shown={texts.saved}>
      {found.map((one) => (
        <div key={one.id} className={styles.saved}>
          <button
            type="button"
            onClick={() => {
              props.onChoose(one);
            }}
          >
            <span className="wrap">{one.name}</span>
            <span className="muted small">
              {isMine(one)
                ? one.is_shared
                  ? texts.savedShared(one.project)
                  : texts.savedMine
                : texts.savedBy(one.owner, one.project)}
            </span>
          </button>
          {one.is_yours && (
            <Button
              kind="plain"
              isSmall
              icon="trash"
              label={texts.deleteSaved(one.name)}
              onClick={() => {
                props.onDelete(one);
              }}
            />
          )}
        </div>
      ))}
    </Menu>
  );
}

/** Asks before a template goes. */
export function DeleteTemplate(props: { template: Template; onClose: () => void }) {
  const { template } = props;
  const { submit: texts, common } = useTexts();
  const { say, complain } = useMessages();
  const remove = useDeleteTemplate();
  return (
    <Confirm
      title={texts.deleteSavedTitle(template.name)}
      names={[template.name]}
      text={template.is_shared ? texts.deleteSavedText(template.project) : ""}
      action={common.delete}
      isDanger
      isBusy={remove.isPending}
      onClose={props.onClose}
      onConfirm={() => {
        remove.mutate(template.id, {
          onSuccess: () => {
            say(texts.deletedSaved(template.name));
          },
          onError: complain,
          onSettled: props.onClose,
        });
      }}
    />
  );
}

/** Keep what is in the form, as far as it is filled in. */
export function SaveTemplate(props: {
  spec: Record<string, unknown>;
  project: string;
  onClose: () => void;
}) {
  const { submit: texts, common } = useTexts();
  const { say } = useMessages();
  const save = useSaveTemplate();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get("name"));
    const isKept = ([key, value]: [string, unknown]) => key !== "project" && value !== "";
    const given = Object.fromEntries(Object.entries(props.spec).filter(isKept));
    save.mutate(
      { name, project: props.project, is_shared: form.get("shared") !== null, spec: given },
      {
        onSuccess: () => {
          say(texts.savedAs(name));
          props.onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={texts.saveTitle}
      action={common.save}
      fields={["name"]}
      error={save.error}
      isBusy={save.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <p className="muted">{texts.saveText}</p>
      <TextField
        label={texts.templateName}
        name="name"
        required
        maxLength={100}
        autoComplete="off"
        wrong={save.error ? asProblem(save.error).fields.name : undefined}
      />
      <CheckField label={texts.share(props.project)} name="shared" />
    </FormDialog>
  );
}
