import type { FormEvent } from "react";
import { useSetPassword } from "@/api/keys";
import { asProblem } from "@/api/problem";
import { useMe } from "@/api/session";
import { Button } from "@/parts/Button";
import { Notice } from "@/parts/Empty";
import { TextField } from "@/parts/Field";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

export function PasswordPanel() {
  const { profile: texts, entry } = useTexts();
  const me = useMe();
  const { say } = useMessages();
  const change = useSetPassword();
  const problem = change.error ? asProblem(change.error) : undefined;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    const current = form.get("current");
    change.mutate(
      {
        password: String(form.get("password")),
        ...(typeof current === "string" && { current }),
      },
      {
        onSuccess: () => {
          say(texts.passwordSet);
          element.reset();
        },
      },
    );
  };
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.password}</h2>
      </div>
      <form className="panel-body fields short" onSubmit={submit}>
        <p className="muted">{me.has_password ? texts.passwordText : texts.noPassword}</p>
        <input
          type="text"
          name="username"
          autoComplete="username"
          value={me.name}
          readOnly
          hidden
        />
        {me.has_password && (
          <TextField
            label={texts.current}
            name="current"
            type="password"
            autoComplete="current-password"
            wrong={problem?.fields.current}
          />
        )}
        <TextField
          label={texts.next}
          name="password"
          type="password"
          autoComplete="new-password"
          hint={entry.passwordHint}
          wrong={problem?.fields.password}
        />
        {problem && !Object.keys(problem.fields).length && (
          <Notice kind="bad">{problem.message}</Notice>
        )}
        <div>
          <Button type="submit" isBusy={change.isPending}>
            {texts.setPassword}
          </Button>
        </div>
      </form>
    </section>
  );
}
