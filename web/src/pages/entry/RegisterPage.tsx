import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { asProblem } from "@/api/problem";
import { useRegister, waysInQuery } from "@/api/session";
import { Button, buttonClass } from "@/parts/Button";
import { Notice } from "@/parts/Empty";
import { AreaField, TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import { EntryCard } from "./EntryCard";

export function RegisterPage() {
  const { entry } = useTexts();
  const register = useRegister();
  const { data: ways } = useQuery(waysInQuery);
  if (register.data) return <Registered isActive={register.data.is_active} />;

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name));
    register.mutate({
      name: text("name"),
      password: text("password"),
      full_name: text("full_name"),
      email: text("email"),
      note: text("note"),
    });
  };
  const problem = register.error ? asProblem(register.error) : undefined;
  const fields = problem?.fields ?? {};
  const foot = (
    <>
      {entry.known} <Link to="/signin">{entry.signIn}</Link>
    </>
  );
  if (ways?.registration === "closed") {
    return (
      <EntryCard title={entry.registerTitle} foot={foot}>
        <Notice>{entry.closed}</Notice>
      </EntryCard>
    );
  }
  return (
    <EntryCard title={entry.registerTitle} foot={foot}>
      <p className="muted">
        {ways?.registration === "open" ? entry.registerOpenText : entry.registerText}
      </p>
      <form onSubmit={submit}>
        <TextField
          label={entry.name}
          name="name"
          autoComplete="username"
          autoCapitalize="none"
          required
          wrong={fields.name}
        />
        <TextField
          label={entry.password}
          name="password"
          type="password"
          autoComplete="new-password"
          required
          hint={entry.passwordHint}
          wrong={fields.password}
        />
        <TextField
          label={entry.fullName}
          name="full_name"
          autoComplete="name"
          isOptional
          wrong={fields.full_name}
        />
        <TextField
          label={entry.email}
          name="email"
          type="email"
          autoComplete="email"
          isOptional
          wrong={fields.email}
        />
        <AreaField
          label={entry.note}
          name="note"
          rows={3}
          isOptional
          hint={entry.noteHint}
          wrong={fields.note}
        />
        {problem && !Object.keys(fields).length && <Notice kind="bad">{problem.message}</Notice>}
        <Button type="submit" kind="primary" isBusy={register.isPending}>
          {entry.register}
        </Button>
      </form>
    </EntryCard>
  );
}

function Registered(props: { isActive: boolean }) {
  const { entry } = useTexts();
  return (
    <EntryCard title={props.isActive ? entry.readyTitle : entry.waitingTitle}>
      {!props.isActive && (
        <Notice kind="wait" icon="clock">
          {entry.waitingText}
        </Notice>
      )}
      <Link to="/signin" className={buttonClass(props.isActive ? "primary" : "normal")}>
        {props.isActive ? entry.signIn : entry.waitingTry}
      </Link>
    </EntryCard>
  );
}
