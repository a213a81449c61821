import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import {
  registrationsQuery,
  useApprove,
  useReject,
  type Registration,
  type Role,
} from "@/api/people";
import { asProblem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Description } from "@/parts/Description";
import { Confirm, FormDialog } from "@/parts/Dialog";
import { CheckField, TextField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { ProjectAndRole } from "./ProjectAndRole";
import styles from "./admin.module.css";

/** Registrations. */
export function Registrations() {
  const { admin: texts, jobs } = useTexts();
  const { say, complain } = useMessages();
  const found = useQuery(registrationsQuery);
  const [approving, setApproving] = useState<readonly Registration[]>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const selected = (found.data ?? []).filter((one) => chosen.has(one.id));
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const [rejecting, setRejecting] = useState<Registration>();
  const reject = useReject();
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.requests}</h2>
        {Boolean(found.data?.length) && <span className="badge wait">{found.data?.length}</span>}
        {(found.data?.length ?? 0) > 1 && (
          <span className="actions">
            <CheckField
              label={jobs.selectAll}
              checked={selected.length === found.data?.length}
              onChange={(event) => {
                const all = found.data?.map((one) => one.id) ?? [];
                setChosen(new Set(event.target.checked ? all : []));
              }}
            />
            <Button
              kind="primary"
              icon="check"
              disabled={!selected.length}
              onClick={() => {
                setApproving(selected);
              }}
            >
              {texts.approveMany(selected.length)}
            </Button>
          </span>
        )}
      </div>
      <Found of={found} lines={2}>
        {(data) =>
          data.length ? (
            <ul className={styles.requests}>
              {data.map((one) => (
                <li key={one.id}>
                  {data.length > 1 && (
                    <input
                      type="checkbox"
                      aria-label={jobs.select(one.name)}
                      checked={chosen.has(one.id)}
                      onChange={(event) => {
                        choose(one.id, event.target.checked);
                      }}
                    />
                  )}
                  <div className={styles.who}>
                    <p>
                      <strong>{one.name}</strong>{" "}
                      <span className="muted">
                        {[one.full_name, one.email].filter(Boolean).join(" · ")}
                      </span>
                    </p>
                    <Description text={one.note} isPlain />
                    <p className="faint small">
                      <Ago at={one.created_at} /> · {texts.from} {one.issuer ?? one.address}
                    </p>
                    {one.is_name_taken && <p className="small">{texts.nameTaken}</p>}
                  </div>
                  <div className="toolbar">
                    <Button
                      kind="primary"
                      icon="check"
                      onClick={() => {
                        setApproving([one]);
                      }}
                    >
                      {texts.approve}
                    </Button>
                    <Button
                      onClick={() => {
                        setRejecting(one);
                      }}
                    >
                      {texts.reject}
                    </Button>
                  </div>
                </li>
              ))}
            </ul>
          ) : (
            <p className="panel-body muted">{texts.noRequests}</p>
          )
        }
      </Found>
      {approving && (
        <ApproveDialog
          registrations={approving}
          onClose={() => {
            setApproving(undefined);
          }}
        />
      )}
      {rejecting && (
        <Confirm
          title={texts.rejectTitle(rejecting.name)}
          names={[rejecting.name]}
          text={texts.rejectText}
          action={texts.reject}
          isDanger
          isBusy={reject.isPending}
          onClose={() => {
            setRejecting(undefined);
          }}
          onConfirm={() => {
            reject.mutate(rejecting.id, {
              onSuccess: () => {
                say(texts.rejected(rejecting.name));
                setRejecting(undefined);
              },
              onError: complain,
            });
          }}
        />
      )}
    </section>
  );
}

/** One registration, whose name can be changed, or several at once. */
function ApproveDialog(props: { registrations: readonly Registration[]; onClose: () => void }) {
  const { registrations } = props;
  const [only] = registrations.length === 1 ? registrations : [];
  const { admin: texts } = useTexts();
  const { say } = useMessages();
  const approve = useApprove();
  const problem = approve.error ? asProblem(approve.error) : undefined;
  const fields = problem?.fields ?? {};
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "");
    const where = { project: text("project") || undefined, role: text("role") as Role };
    const approveAll = async () => {
      for (const { id, name } of registrations) {
        const other = only && text("name") !== name ? text("name") : undefined;
        const person = await approve.mutateAsync({ id, name: other, ...where });
        if (only) say(texts.approved(person.name));
      }
      if (!only) say(texts.approvedMany(registrations.length));
      props.onClose();
    };
    approveAll().catch(() => undefined); // the dialog shows what went wrong; who is approved has left the list
  };
  return (
    <FormDialog
      title={only ? texts.approveTitle(only.name) : texts.approveManyTitle(registrations.length)}
      action={texts.approve}
      fields={only ? ["name", "project"] : ["project"]}
      error={approve.error}
      isBusy={approve.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      {only ? (
        <TextField
          label={texts.name}
          name="name"
          defaultValue={only.name}
          required
          hint={only.is_name_taken ? texts.nameTaken : undefined}
          wrong={fields.name}
        />
      ) : (
        <p className="wrap">{registrations.map((one) => one.name).join(", ")}</p>
      )}
      <ProjectAndRole wrong={fields.project} />
    </FormDialog>
  );
}
