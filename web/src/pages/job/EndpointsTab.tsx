import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import {
  endpointsQuery,
  sshGatewayQuery,
  useCloseEndpoint,
  useEndpointLink,
  useOpenEndpoint,
  type Endpoint,
} from "@/api/endpoints";
import { asProblem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { FormDialog } from "@/parts/Dialog";
import { TextField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { useLoadedJob } from "./loaded";

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
          {(all) => all.length > 0 && <Table job={job.id} all={all} isOver={isOver} />}
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

function Table(props: { job: string; all: Endpoint[]; isOver: boolean }) {
  const { endpoints: texts } = useTexts();
  const { say, complain } = useMessages();
  const link = useEndpointLink(props.job);
  const close = useCloseEndpoint(props.job);
  const share = useOpenEndpoint(props.job);
  const show = (name: string) => {
    // at once, because of the click: a browser blocks pages that open by themselves
    const page = window.open("about:blank");
    if (page) page.opener = null;
    link.mutate(name, {
      onSuccess: (found) => {
        if (page) page.location.href = found.url;
      },
      onError: (error) => {
        page?.close();
        complain(error);
      },
    });
  };
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.title}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{texts.name}</th>
            <th scope="col">{texts.sharedWith}</th>
            <th scope="col">
              <span className="hidden-visually">{texts.open}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {props.all.map((one) => (
            <tr key={one.name}>
              <td>{one.name}</td>
              <td>{one.is_shared ? texts.project : texts.owner}</td>
              <td className="end">
                {!props.isOver && (
                  <Button
                    isSmall
                    kind="primary"
                    onClick={() => {
                      show(one.name);
                    }}
                  >
                    {texts.open}
                  </Button>
                )}{" "}
                {!props.isOver && (
                  <Button
                    isSmall
                    onClick={() => {
                      share.mutate(
                        { endpoint: one.name, isShared: !one.is_shared },
                        { onError: complain },
                      );
                    }}
                  >
                    {one.is_shared ? texts.unshare : texts.share}
                  </Button>
                )}{" "}
                <Button
                  isSmall
                  kind="plain"
                  icon="trash"
                  label={texts.close}
                  onClick={() => {
                    close.mutate(one.name, {
                      onSuccess: () => {
                        say(texts.closed);
                      },
                      onError: complain,
                    });
                  }}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
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
