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
import { TextField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { ProjectAndRole } from "./ProjectAndRole";
import styles from "./admin.module.css";

/** Account requests. */
export function Registrations() {
  const { admin: texts } = useTexts();
  const { say, complain } = useMessages();
  const found = useQuery(registrationsQuery);
  const [approving, setApproving] = useState<Registration>();
  const [rejecting, setRejecting] = useState<Registration>();
  const reject = useReject();
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.requests}</h2>
        {Boolean(found.data?.length) && <span className="badge wait">{found.data?.length}</span>}
      </div>
      <Found of={found} lines={2}>
        {(data) =>
          data.length ? (
            <ul className={styles.requests}>
              {data.map((one) => (
                <li key={one.id}>
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
                        setApproving(one);
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
          registration={approving}
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

function ApproveDialog(props: { registration: Registration; onClose: () => void }) {
  const { registration } = props;
  const { admin: texts } = useTexts();
  const { say } = useMessages();
  const approve = useApprove();
  const problem = approve.error ? asProblem(approve.error) : undefined;
  const fields = problem?.fields ?? {};
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "");
    const name = text("name");
    approve.mutate(
      {
        id: registration.id,
        name: name === registration.name ? undefined : name,
        project: text("project") || undefined,
        role: text("role") as Role,
      },
      {
        onSuccess: (person) => {
          say(texts.approved(person.name));
          props.onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={texts.approveTitle(registration.name)}
      action={texts.approve}
      fields={["name", "project"]}
      error={approve.error}
      isBusy={approve.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.name}
        name="name"
        defaultValue={registration.name}
        required
        hint={registration.is_name_taken ? texts.nameTaken : undefined}
        wrong={fields.name}
      />
      <ProjectAndRole wrong={fields.project} />
    </FormDialog>
  );
}
