import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { endpointsQuery, sshGatewayQuery, useOpenEndpoint, useViewerLink } from "@/api/endpoints";
import { asProblem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { FormDialog } from "@/parts/Dialog";
import { TextField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { EndpointsTable } from "./EndpointsTable";
import { useLoadedJob } from "./loaded";
import { showPage } from "./showPage";

const SERVICES = ["jupyter", "tensorboard"];

export function EndpointsTab() {
  const job = useLoadedJob();
  const { endpoints: texts } = useTexts();
  const { complain } = useMessages();
  const open = useQuery(endpointsQuery(job.id));
  const add = useOpenEndpoint(job.id);
  const [isAdding, setIsAdding] = useState(false);
  const isOver = job.ended_at !== null;
  const missing = SERVICES.filter((name) => !open.data?.some((one) => one.name === name));
  return (
    <>
      <section className="panel">
        <div className="panel-head">
          <h2>{texts.title}</h2>
          {isOver && <Viewer job={job.id} />}
          {!isOver && (
            <div className="actions">
              {missing.map((name) => (
                <Button
                  key={name}
                  isSmall
                  icon="plus"
                  disabled={add.isPending}
                  onClick={() => {
                    add.mutate({ endpoint: name, isShared: false }, { onError: complain });
                  }}
                >
                  {name === "jupyter" ? "JupyterLab" : "TensorBoard"}
                </Button>
              ))}
              <Button
                isSmall
                icon="plus"
                onClick={() => {
                  setIsAdding(true);
                }}
              >
                {texts.port}
              </Button>
            </div>
          )}
        </div>
        <p className="panel-body muted">{isOver ? texts.over : texts.text}</p>
        <Found of={open}>
          {(all) => all.length > 0 && <EndpointsTable job={job.id} all={all} isOver={isOver} />}
        </Found>
      </section>
      {!isOver && <Ssh job={job.id} />}
      {isAdding && (
        <AddPort
          job={job.id}
          onClose={() => {
            setIsAdding(false);
          }}
        />
      )}
    </>
  );
}

/** TensorBoard of a job that is over, from what it has left. */
function Viewer(props: { job: string }) {
  const { endpoints: texts } = useTexts();
  const { complain } = useMessages();
  const viewer = useViewerLink(props.job);
  return (
    <div className="actions">
      <Button
        isSmall
        kind="primary"
        disabled={viewer.isPending}
        onClick={() => {
          showPage(viewer.mutateAsync, complain, texts.viewerStarts);
        }}
      >
        TensorBoard
      </Button>
    </div>
  );
}

function Ssh(props: { job: string }) {
  const { endpoints: texts } = useTexts();
  const gateway = useQuery(sshGatewayQuery);
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>SSH</h2>
        <Link to="/profile">{texts.sshKeys}</Link>
      </div>
      <div className="panel-body">
        <p className="muted">{texts.sshText}</p>
        <Found of={gateway}>
          {(found) => (
            <Code
              text={`ssh -p ${String(found.port)} ${props.job}@${found.host}`}
              label={texts.ssh}
            />
          )}
        </Found>
      </div>
    </section>
  );
}

function AddPort(props: { job: string; onClose: () => void }) {
  const { endpoints: texts } = useTexts();
  const add = useOpenEndpoint(props.job);
  const problem = add.error ? asProblem(add.error) : undefined;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    add.mutate(
      { endpoint: String(form.get("endpoint")).trim(), isShared: false },
      { onSuccess: props.onClose },
    );
  };
  return (
    <FormDialog
      title={texts.openPort}
      action={texts.openPort}
      fields={["endpoint"]}
      error={add.error}
      isBusy={add.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.port}
        name="endpoint"
        inputMode="numeric"
        hint={texts.portHint}
        wrong={problem?.fields.endpoint}
        required
        autoFocus
      />
    </FormDialog>
  );
}
