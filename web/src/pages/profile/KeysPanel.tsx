import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { keysQuery, useDeleteKey, useMakeKey, type Key } from "@/api/keys";
import { asProblem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Confirm, Dialog, FormDialog } from "@/parts/Dialog";
import { Notice } from "@/parts/Empty";
import { TextField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { exportKey } from "@/parts/snippets";
import { Ago, Moment } from "@/parts/time";
import { useTexts } from "@/texts/language";

export function KeysPanel() {
  const { profile: texts, common } = useTexts();
  const { say, complain } = useMessages();
  const keys = useQuery(keysQuery);
  const remove = useDeleteKey();
  const [isMaking, setIsMaking] = useState(false);
  const [leaving, setLeaving] = useState<Key>();
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.keys}</h2>
        <Button
          isSmall
          icon="plus"
          onClick={() => {
            setIsMaking(true);
          }}
        >
          {texts.makeKey}
        </Button>
      </div>
      <p className="panel-body muted">{texts.keysText}</p>
      <Found of={keys}>
        {(mine) =>
          !mine.length ? (
            <p className="panel-body muted">{texts.noKeys}</p>
          ) : (
            <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.keys}>
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">{texts.keyName}</th>
                    <th scope="col" className="wide-only">
                      {texts.keyId}
                    </th>
                    <th scope="col" className="wide-only">
                      {texts.created}
                    </th>
                    <th scope="col">{texts.expires}</th>
                    <th scope="col">{texts.lastUsed}</th>
                    <th scope="col">
                      <span className="hidden-visually">{common.delete}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {mine.map((key) => (
                    <tr key={key.id}>
                      <td className="tall wrap">{key.name || "–"}</td>
                      <td className="wide-only">
                        <code>{key.id}</code>
                      </td>
                      <td className="wide-only">
                        <Ago at={key.created_at} />
                      </td>
                      <td>{key.expires_at ? <Moment at={key.expires_at} /> : texts.never}</td>
                      <td>{key.last_used_at ? <Ago at={key.last_used_at} /> : texts.unused}</td>
                      <td className="end">
                        <Button
                          kind="plain"
                          isSmall
                          icon="trash"
                          label={common.delete}
                          onClick={() => {
                            setLeaving(key);
                          }}
                        />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Found>
      {isMaking && (
        <MakeKey
          onClose={() => {
            setIsMaking(false);
          }}
        />
      )}
      {leaving && (
        <Confirm
          title={texts.deleteKeyTitle}
          names={[leaving.name || leaving.id]}
          text={texts.deleteKeyText(leaving.name || leaving.id)}
          action={common.delete}
          isDanger
          isBusy={remove.isPending}
          onClose={() => {
            setLeaving(undefined);
          }}
          onConfirm={() => {
            remove.mutate(leaving.id, {
              onSuccess: () => {
                say(texts.keyDeleted);
                setLeaving(undefined);
              },
              onError: complain,
            });
          }}
        />
      )}
    </section>
  );
}

function MakeKey(props: { onClose: () => void }) {
  const { profile: texts, common } = useTexts();
  const make = useMakeKey();
  const problem = make.error ? asProblem(make.error) : undefined;
  if (make.data) {
    return (
      <Dialog title={texts.madeTitle} onClose={props.onClose}>
        <Notice kind="wait">{texts.madeText}</Notice>
        <Code text={make.data.api_key} isWrapped label={texts.madeTitle} />
        <p>{texts.madeUse}</p>
        <Code text={exportKey(location.origin, make.data.api_key)} label={texts.madeUse} />
        <div className="actions">
          <Button kind="primary" onClick={props.onClose}>
            {common.close}
          </Button>
        </div>
      </Dialog>
    );
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const days = String(form.get("days")).trim();
    make.mutate({
      name: String(form.get("name")),
      ...(days && { expires_in_days: Number(days) }),
    });
  };
  return (
    <FormDialog
      title={texts.makeKey}
      action={texts.makeKey}
      fields={["name", "expires_in_days"]}
      error={make.error}
      isBusy={make.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField label={texts.keyName} name="name" wrong={problem?.fields.name} autoFocus />
      <TextField
        label={texts.keyDays}
        name="days"
        inputMode="numeric"
        isOptional
        hint={texts.keyDaysHint}
        wrong={problem?.fields.expires_in_days}
      />
    </FormDialog>
  );
}
