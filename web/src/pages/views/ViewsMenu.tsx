import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { asProblem } from "@/api/problem";
import { useMe } from "@/api/session";
import {
  savedSearch,
  useDeleteView,
  useSaveView,
  viewsQuery,
  type View,
  type ViewPage,
} from "@/api/views";
import { Button } from "@/parts/Button";
import { copyText } from "@/parts/Code";
import { Confirm, FormDialog } from "@/parts/Dialog";
import { ProblemLine } from "@/parts/Empty";
import { CheckField, SelectField, TextField } from "@/parts/Field";
import { Menu, MenuItem } from "@/parts/Menu";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import styles from "./views.module.css";

/** Saved views of a page, one's own first, and saving what is seen now. */
export function ViewsMenu(props: {
  page: ViewPage;
  search: Readonly<Record<string, unknown>>;
  /** Where it is saved unless somebody chooses another project. */
  project: string | undefined;
  onSaved: (view: View) => void;
}) {
  const { views: texts } = useTexts();
  const { say, complain } = useMessages();
  const me = useMe();
  const { data, error, refetch } = useQuery(viewsQuery);
  const [asked, setAsked] = useState<"save" | View>();
  const isMine = (one: View) => one.owner === me.name;
  const found = (data ?? [])
    .filter((one) => one.page === props.page)
    .sort((a, b) => Number(isMine(b)) - Number(isMine(a)) || a.name.localeCompare(b.name));
  const open = found.find((one) => one.id === props.search.view);
  const copyLink = (view: string) => {
    void copyText(`${location.origin}/views/${view}`).then(() => {
      say(texts.copied);
    }, complain);
  };
  return (
    <>
      <Menu label={texts.title} icon="book" shown={open?.name ?? texts.title}>
        <MenuItem
          icon="plus"
          onChoose={() => {
            setAsked("save");
          }}
        >
          {texts.save}
        </MenuItem>
        {error && <ProblemLine error={error} onRetry={() => void refetch()} />}
        {found.map((one) => (
          <div key={one.id} className={styles.saved}>
            <Link to="/views/$id" params={{ id: one.id }}>
              <span className="wrap">{one.name}</span>
              <span className="muted small">
                {isMine(one)
                  ? one.is_shared
                    ? texts.shared(one.project)
                    : texts.mine
                  : texts.by(one.owner, one.project)}
              </span>
            </Link>
            <Button
              kind="plain"
              isSmall
              icon="link"
              label={texts.copy(one.name)}
              onClick={() => {
                copyLink(one.id);
              }}
            />
            {one.is_yours && (
              <Button
                kind="plain"
                isSmall
                icon="trash"
                label={texts.delete(one.name)}
                onClick={() => {
                  setAsked(one);
                }}
              />
            )}
          </div>
        ))}
      </Menu>
      {asked === "save" && (
        <SaveView
          {...props}
          open={open}
          onClose={() => {
            setAsked(undefined);
          }}
        />
      )}
      {asked !== undefined && asked !== "save" && (
        <DeleteView
          view={asked}
          onClose={() => {
            setAsked(undefined);
          }}
        />
      )}
    </>
  );
}

function SaveView(props: {
  page: ViewPage;
  search: Readonly<Record<string, unknown>>;
  project: string | undefined;
  /** The view that is seen: saving under its name replaces it. */
  open: View | undefined;
  onSaved: (view: View) => void;
  onClose: () => void;
}) {
  const { views: texts, common } = useTexts();
  const { say } = useMessages();
  const me = useMe();
  const save = useSaveView();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    save.mutate(
      {
        name: String(form.get("name")),
        project: (form.get("project") as string | null) ?? undefined,
        is_shared: form.get("shared") !== null,
        page: props.page,
        search: savedSearch(props.search),
      },
      {
        onSuccess: (view) => {
          say(texts.savedAs(view.name));
          props.onSaved(view);
          props.onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={texts.save}
      action={common.save}
      fields={["name"]}
      error={save.error}
      isBusy={save.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <p className="muted">{texts.saveText}</p>
      <TextField
        label={texts.name}
        name="name"
        required
        maxLength={100}
        autoComplete="off"
        defaultValue={props.open?.name}
        wrong={save.error ? asProblem(save.error).fields.name : undefined}
      />
      {me.projects.length > 1 && (
        <SelectField
          label={texts.project}
          name="project"
          defaultValue={props.open?.project ?? props.project}
          choices={me.projects.map((name) => [name, name] as const)}
        />
      )}
      <CheckField label={texts.share} name="shared" defaultChecked={props.open?.is_shared} />
    </FormDialog>
  );
}

function DeleteView(props: { view: View; onClose: () => void }) {
  const { view } = props;
  const { views: texts, common } = useTexts();
  const { say, complain } = useMessages();
  const remove = useDeleteView();
  return (
    <Confirm
      title={texts.deleteTitle(view.name)}
      names={[view.name]}
      text={view.is_shared ? texts.deleteText(view.project) : ""}
      action={common.delete}
      isDanger
      isBusy={remove.isPending}
      onClose={props.onClose}
      onConfirm={() => {
        remove.mutate(view.id, {
          onSuccess: () => {
            say(texts.deleted(view.name));
          },
          onError: complain,
          onSettled: props.onClose,
        });
      }}
    />
  );
}
