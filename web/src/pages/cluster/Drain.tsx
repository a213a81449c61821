import { useState, type FormEvent } from "react";
import { useDrain, useOpenNode, type Node } from "@/api/nodes";
import { asProblem } from "@/api/problem";
import { useMe } from "@/api/session";
import { Button } from "@/parts/Button";
import { FormDialog } from "@/parts/Dialog";
import { Notice } from "@/parts/Empty";
import { CheckField, TextField } from "@/parts/Field";
import { useMessages } from "@/parts/Messages";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";

/** Why nothing new comes to a node, who said so, and what is still there. */
export function DrainNotice(props: { node: Node }) {
  const { cluster: texts } = useTexts();
  const { drain, num_tasks } = props.node;
  if (!drain) return null;
  return (
    <Notice kind="wait" icon="pause">
      <p className="wrap">
        <strong>{drain.reason}</strong>
      </p>
      <p className="small">
        {texts.drainedBy(drain.by)}, <Ago at={drain.at} />
      </p>
      <p className="small">{texts.stillRun(num_tasks ?? 0)}</p>
    </Notice>
  );
}

/** For admins: drain a node, or open it again. */
export function DrainAction(props: { node: Node }) {
  const { node } = props;
  const { cluster: texts } = useTexts();
  const { say, complain } = useMessages();
  const me = useMe();
  const open = useOpenNode();
  const [isAsking, setIsAsking] = useState(false);
  if (!me.is_admin) return null;
  return (
    <>
      {node.drain ? (
        <Button
          isSmall
          icon="play"
          isBusy={open.isPending}
          onClick={() => {
            open.mutate(node.name, {
              onSuccess: () => {
                say(texts.isOpen(node.name));
              },
              onError: complain,
            });
          }}
        >
          {texts.open}
        </Button>
      ) : (
        <Button
          isSmall
          icon="pause"
          onClick={() => {
            setIsAsking(true);
          }}
        >
          {texts.drain}
        </Button>
      )}
      {isAsking && (
        <DrainDialog
          node={node}
          onClose={() => {
            setIsAsking(false);
          }}
        />
      )}
    </>
  );
}

function DrainDialog(props: { node: Node; onClose: () => void }) {
  const { node } = props;
  const { cluster: texts } = useTexts();
  const { say } = useMessages();
  const drain = useDrain(node.name);
  const [reason, setReason] = useState("");
  const [evict, setEvict] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    drain.mutate(
      { reason, evict },
      {
        onSuccess: () => {
          say(texts.isDrained(node.name));
          props.onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={texts.drainTitle(node.name)}
      action={texts.drain}
      fields={["reason"]}
      error={drain.error}
      isBusy={drain.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <p className="muted">{texts.drainText}</p>
      <TextField
        label={texts.drainReason}
        hint={texts.drainReasonHint}
        value={reason}
        required
        autoFocus
        maxLength={300}
        wrong={drain.error ? asProblem(drain.error).fields.reason : undefined}
        onChange={(event) => {
          setReason(event.target.value);
        }}
      />
      <CheckField
        label={texts.evict}
        hint={texts.evictHint}
        checked={evict}
        onChange={(event) => {
          setEvict(event.target.checked);
        }}
      />
    </FormDialog>
  );
}
