import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import {
  useChangeVersion,
  useDeleteVersion,
  versionQuery,
  versionsQuery,
  type Version,
} from "@/api/artifacts";
import { asProblem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { DataTable } from "@/parts/DataTable";
import { Description } from "@/parts/Description";
import { Confirm, FormDialog } from "@/parts/Dialog";
import { Loading, Problem } from "@/parts/Empty";
import { AreaField, TextField } from "@/parts/Field";
import { Flow } from "@/parts/flow/Flow";
import { useMessages } from "@/parts/Messages";
import { showBytes } from "@/parts/numbers";
import { Tabs } from "@/parts/Tabs";
import { Ago } from "@/parts/time";
import { Trail } from "@/parts/Trail";
import { useTexts } from "@/texts/language";
import { Facts } from "@/parts/Facts";
import { Files } from "./Files";

/** One version of an artifact. */
export function ArtifactPage() {
  const { id } = useParams({ from: "/inside/artifacts/$id" });
  const { tab = "files" } = useSearch({ from: "/inside/artifacts/$id" });
  const { artifacts: texts } = useTexts();
  const { data: version, error, refetch } = useQuery(versionQuery(id));
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!version) return <Loading lines={6} />;
  return (
    <div className="page">
      <Trail
        above={[[texts.title, { to: "/artifacts" }]]}
        here={`${version.name}:${String(version.version)}`}
      />
      <div className="page-head">
        <h1 className="wrap">
          {version.name} <span className="muted">v{version.version}</span>
        </h1>
        {version.aliases?.map((alias) => (
          <span key={alias} className="badge plain run">
            {alias}
          </span>
        ))}
        <Actions version={version} />
      </div>
      <Facts
        items={[
          [texts.size, `${showBytes(version.size)}, ${texts.numFiles(version.num_files)}`],
          [texts.project, version.project],
          [texts.owner, version.owner],
          [texts.made, <Ago key="made" at={version.made_at} />],
          version.run && [
            texts.run,
            <Link key="run" to="/experiments/$id" params={{ id: version.run }}>
              {version.run}
            </Link>,
          ],
          version.job && [
            texts.job,
            <Link key="job" to="/jobs/$id" params={{ id: version.job }}>
              {version.job}
            </Link>,
          ],
          version.labels?.length && [texts.labels, version.labels.join(", ")],
        ]}
      />
      <Description text={version.description} />
      <Tabs
        label={version.name}
        tabs={[
          ["files", texts.tabs.files],
          ["versions", texts.tabs.versions],
          ["flow", texts.tabs.flow],
        ]}
        shown={tab}
      />
      {tab === "files" && <Files version={version} />}
      {tab === "versions" && <Versions version={version} />}
      {tab === "flow" && <Flow node={`artifact:${version.id}`} />}
    </div>
  );
}

function Versions(props: { version: Version }) {
  const { artifacts: texts } = useTexts();
  const { data, error, refetch } = useQuery(
    versionsQuery(props.version.name, props.version.project),
  );
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <DataTable
      label={texts.versions}
      rows={data}
      rowId={(row) => row.id}
      columns={[
        {
          id: "version",
          title: texts.version,
          cell: (row) => (
            <Link className="row-name" to="/artifacts/$id" params={{ id: row.id }}>
              v{row.version}
            </Link>
          ),
        },
        {
          id: "aliases",
          title: texts.aliases,
          cell: (row) =>
            (row.aliases ?? []).map((alias) => (
              <span key={alias} className="tag">
                {alias}
              </span>
            )),
        },
        { id: "files", title: texts.files, isEnd: true, cell: (row) => row.num_files },
        { id: "size", title: texts.size, isEnd: true, cell: (row) => showBytes(row.size) },
        { id: "owner", title: texts.owner, isWideOnly: true, cell: (row) => row.owner },
        { id: "made", title: texts.made, cell: (row) => <Ago at={row.made_at} /> },
      ]}
    />
  );
}

function Actions(props: { version: Version }) {
  const { version } = props;
  const { artifacts: texts } = useTexts();
  const { say, complain } = useMessages();
  const navigate = useNavigate();
  const remove = useDeleteVersion();
  const [asked, setAsked] = useState<"edit" | "delete">();
  const name = `${version.name} v${String(version.version)}`;
  const close = () => {
    setAsked(undefined);
  };
  return (
    <div className="actions">
      <Button
        icon="edit"
        onClick={() => {
          setAsked("edit");
        }}
      >
        {texts.edit}
      </Button>
      <Button
        icon="trash"
        label={texts.delete}
        onClick={() => {
          setAsked("delete");
        }}
      />
      {asked === "edit" && <EditDialog version={version} onClose={close} />}
      {asked === "delete" && (
        <Confirm
          title={texts.deleteTitle(name)}
          names={[name]}
          text={texts.deleteText}
          action={texts.delete}
          isDanger
          isBusy={remove.isPending}
          onClose={close}
          onConfirm={() => {
            remove.mutate(version.id, {
              onSuccess: () => {
                say(texts.deleted(name));
                void navigate({ to: "/artifacts" });
              },
              onError: (error) => {
                close();
                complain(error);
              },
            });
          }}
        />
      )}
    </div>
  );
}

function EditDialog(props: { version: Version; onClose: () => void }) {
  const { version } = props;
  const { artifacts: texts, common, runs } = useTexts();
  const { say } = useMessages();
  const change = useChangeVersion();
  const problem = change.error ? asProblem(change.error) : undefined;
  const fields = problem?.fields ?? {};
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const words = (name: string) =>
      String(form.get(name))
        .split(/[,，]/)
        .map((word) => word.trim())
        .filter(Boolean);
    change.mutate(
      {
        id: version.id,
        aliases: words("aliases"),
        labels: words("labels"),
        description: String(form.get("description")),
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
      title={texts.editTitle(version.name)}
      action={common.save}
      fields={["aliases", "labels", "description"]}
      error={change.error}
      isBusy={change.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.aliases}
        name="aliases"
        defaultValue={(version.aliases ?? []).join(", ")}
        hint={runs.labelsHint}
        wrong={fields.aliases}
      />
      <TextField
        label={texts.labels}
        name="labels"
        defaultValue={(version.labels ?? []).join(", ")}
        hint={runs.labelsHint}
        wrong={fields.labels}
      />
      <AreaField
        label={texts.description}
        name="description"
        rows={4}
        defaultValue={version.description}
        wrong={fields.description}
      />
    </FormDialog>
  );
}
