import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { useSetDefaultProject } from "@/api/invitations";
import { projectsQuery, useMakeProject } from "@/api/people";
import { asProblem } from "@/api/problem";
import { useMe } from "@/api/session";
import { Button } from "@/parts/Button";
import { DataTable } from "@/parts/DataTable";
import { FormDialog } from "@/parts/Dialog";
import { Empty } from "@/parts/Empty";
import { AreaField, TextField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { bucketNameOf } from "./bucketName";
import { MyInvitations } from "./Invitations";

export function ProjectsPage() {
  const { admin: texts } = useTexts();
  const me = useMe();
  const found = useQuery(projectsQuery);
  const { complain } = useMessages();
  const setDefault = useSetDefaultProject();
  const [isMaking, setIsMaking] = useState(false);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.projectsTitle}</h1>
        {me.is_admin && (
          <div className="actions">
            <Button
              icon="plus"
              kind="primary"
              onClick={() => {
                setIsMaking(true);
              }}
            >
              {texts.makeProject}
            </Button>
          </div>
        )}
      </div>
      <MyInvitations />
      <Found of={found}>
        {(data) =>
          data.length ? (
            <DataTable
              label={texts.projectsTitle}
              rows={data}
              rowId={(row) => row.name}
              columns={[
                {
                  id: "name",
                  title: texts.projectName,
                  cell: (row) => (
                    <Link className="row-name" to="/projects/$name" params={{ name: row.name }}>
                      {row.name}
                    </Link>
                  ),
                },
                {
                  id: "description",
                  title: texts.description,
                  isClipped: true,
                  isWideOnly: true,
                  cell: (row) => <span title={row.description}>{row.description || "–"}</span>,
                },
                {
                  id: "role",
                  title: texts.role,
                  cell: (row) => (
                    <>
                      {row.role ? texts.roles[row.role] : "–"}{" "}
                      {row.is_archived && <span className="tag">{texts.archived}</span>}
                      {row.name === me.default_project && (
                        <span className="tag">{texts.isDefault}</span>
                      )}
                    </>
                  ),
                },
                {
                  id: "created",
                  title: texts.at,
                  isWideOnly: true,
                  cell: (row) => <Ago at={row.created_at} />,
                },
                {
                  id: "actions",
                  title: "",
                  isEnd: true,
                  cell: (row) =>
                    row.name !== me.default_project &&
                    !row.is_archived &&
                    (row.role === "owner" || row.role === "member") && (
                      <Button
                        isSmall
                        onClick={() => {
                          setDefault.mutate(row.name, { onError: complain });
                        }}
                      >
                        {texts.makeDefault}
                      </Button>
                    ),
                },
              ]}
            />
          ) : (
            <div className="panel">
              <Empty icon="user" title={texts.noProjects}>
                <p>{texts.noProjectsText}</p>
              </Empty>
            </div>
          )
        }
      </Found>
      {isMaking && (
        <MakeDialog
          onClose={() => {
            setIsMaking(false);
          }}
        />
      )}
    </div>
  );
}

function MakeDialog(props: { onClose: () => void }) {
  const { admin: texts, store } = useTexts();
  const [bucket, setBucket] = useState("");
  const { say } = useMessages();
  const make = useMakeProject();
  const navigate = useNavigate();
  const problem = make.error ? asProblem(make.error) : undefined;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get("name"));
    make.mutate(
      {
        name,
        description: String(form.get("description")),
        bucket: String(form.get("bucket")) || undefined,
      },
      {
        onSuccess: () => {
          say(texts.made(name));
          void navigate({ to: "/projects/$name", params: { name } });
        },
      },
    );
  };
  return (
    <FormDialog
      title={texts.makeProject}
      action={texts.makeProject}
      fields={["name", "description", "bucket"]}
      error={make.error}
      isBusy={make.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.projectName}
        name="name"
        required
        autoCapitalize="none"
        wrong={problem?.fields.name}
        onChange={(event) => {
          setBucket(bucketNameOf(event.target.value));
        }}
      />
      <TextField
        label={store.bucket}
        name="bucket"
        hint={store.firstBucketHint}
        isOptional
        autoCapitalize="none"
        value={bucket}
        wrong={problem?.fields.bucket}
        onChange={(event) => {
          setBucket(event.target.value);
        }}
      />
      <AreaField
        label={texts.description}
        name="description"
        rows={3}
        isOptional
        wrong={problem?.fields.description}
      />
    </FormDialog>
  );
}
