import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { sshKeysQuery, useAddSshKey, useRemoveSshKey, type SshKey } from "@/api/endpoints";
import { asProblem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Confirm, FormDialog } from "@/parts/Dialog";
import { TextField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";

export function SshKeysPanel() {
  const { endpoints: texts, profile, common } = useTexts();
  const { say, complain } = useMessages();
  const keys = useQuery(sshKeysQuery);
  const remove = useRemoveSshKey();
  const [isAdding, setIsAdding] = useState(false);
  const [leaving, setLeaving] = useState<SshKey>();
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.keys}</h2>
        <Button
          isSmall
          icon="plus"
          onClick={() => {
            setIsAdding(true);
          }}
        >
          {texts.addKey}
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
                      {texts.fingerprint}
                    </th>
                    <th scope="col">{profile.lastUsed}</th>
                    <th scope="col">
                      <span className="hidden-visually">{common.delete}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {mine.map((key) => (
                    <tr key={key.id}>
                      <td className="tall wrap">{key.name || key.kind}</td>
                      <td className="wide-only">
                        <code>{key.fingerprint}</code>
                      </td>
                      <td>{key.last_used_at ? <Ago at={key.last_used_at} /> : profile.unused}</td>
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
      {isAdding && (
        <AddKey
          onClose={() => {
            setIsAdding(false);
          }}
        />
      )}
      {leaving && (
        <Confirm
          title={texts.removeTitle}
          names={[leaving.name || leaving.fingerprint]}
          text={texts.removeText(leaving.name || leaving.fingerprint)}
          action={common.delete}
          isDanger
          isBusy={remove.isPending}
          onClose={() => {
            setLeaving(undefined);
          }}
          onConfirm={() => {
            remove.mutate(leaving.id, {
              onSuccess: () => {
                say(texts.removed);
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

function AddKey(props: { onClose: () => void }) {
  const { endpoints: texts } = useTexts();
  const add = useAddSshKey();
  const problem = add.error ? asProblem(add.error) : undefined;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    add.mutate(
      { public_key: String(form.get("public_key")), name: String(form.get("name")).trim() },
      { onSuccess: props.onClose },
    );
  };
  return (
    <FormDialog
      title={texts.addKey}
      action={texts.addKey}
      fields={["public_key", "name"]}
      error={add.error}
      isBusy={add.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.publicKey}
        name="public_key"
        hint={texts.publicKeyHint}
        wrong={problem?.fields.public_key}
        required
        autoFocus
      />
      <TextField label={texts.keyName} name="name" isOptional wrong={problem?.fields.name} />
    </FormDialog>
  );
}
