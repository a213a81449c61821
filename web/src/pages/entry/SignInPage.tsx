import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { ApiProblem } from "@/api/problem";
import { useSignIn, waysInQuery } from "@/api/session";
import { Button, buttonClass } from "@/parts/Button";
import { Notice } from "@/parts/Empty";
import { TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import { EntryCard } from "./EntryCard";
import styles from "./entry.module.css";

export function SignInPage() {
  const { token } = useSearch({ from: "/signin" });
  return token === undefined ? <PasswordForm /> : <LinkForm token={token} />;
}

function PasswordForm() {
  const { entry } = useTexts();
  const signIn = useSignIn();
  const goOn = useGoOn();
  const { data: ways } = useQuery(waysInQuery);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    signIn.mutate(
      { name: String(form.get("name")), password: String(form.get("password")) },
      { onSuccess: goOn },
    );
  };
  const foot = ways?.registration !== "closed" && (
    <>
      {entry.new} <Link to="/register">{entry.register}</Link>
    </>
  );
  return (
    <EntryCard title={entry.signIn} foot={foot}>
      {ways?.oidc_name && (
        <>
          <a className={buttonClass()} href="/signin/oidc">
            {entry.withProvider(ways.oidc_name)}
          </a>
          <div className={styles.or}>{entry.or}</div>
        </>
      )}
      <form onSubmit={submit}>
        <TextField
          label={entry.name}
          name="name"
          autoComplete="username"
          autoCapitalize="none"
          required
        />
        <TextField
          label={entry.password}
          name="password"
          type="password"
          autoComplete="current-password"
          required
        />
        {signIn.error && <Refusal error={signIn.error} />}
        <Button type="submit" kind="primary" isBusy={signIn.isPending}>
          {signIn.isPending ? entry.signingIn : entry.signIn}
        </Button>
      </form>
    </EntryCard>
  );
}

function LinkForm(props: { token: string }) {
  const { entry } = useTexts();
  const [password, setPassword] = useState("");
  const signIn = useSignIn();
  const goOn = useGoOn();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = password ? { token: props.token, new_password: password } : { token: props.token };
    signIn.mutate(body, { onSuccess: goOn });
  };
  const fields = signIn.error instanceof ApiProblem ? signIn.error.fields : {};
  return (
    <EntryCard title={entry.linkTitle}>
      <p className="muted">{entry.linkText}</p>
      <form onSubmit={submit}>
        <TextField
          label={entry.newPassword}
          isOptional
          hint={entry.newPasswordHint}
          wrong={fields.new_password}
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={(event) => {
            setPassword(event.target.value);
          }}
        />
        {signIn.error && !fields.new_password && <Refusal error={signIn.error} />}
        <Button type="submit" kind="primary" isBusy={signIn.isPending}>
          {entry.signIn}
        </Button>
      </form>
    </EntryCard>
  );
}

function Refusal(props: { error: Error }) {
  const { entry, common } = useTexts();
  const problem = props.error instanceof ApiProblem ? props.error : undefined;
  const { token } = useSearch({ from: "/signin" });
  let told = problem?.message ?? props.error.message;
  if (problem?.status === 0) told = common.unreachable;
  if (problem?.status === 401 && token === undefined) told = entry.wrong;
  if (problem?.status === 429) told = entry.tooMany(problem.retryAfterSeconds ?? 60);
  return (
    <div role="alert">
      <Notice kind="bad">{told}</Notice>
    </div>
  );
}

/** The page that was requested before the sign-in. */
function useGoOn(): () => void {
  const { next } = useSearch({ from: "/signin" });
  const navigate = useNavigate();
  const router = useRouter();
  return () => {
    // an address of this site only
    if (next?.startsWith("/") && !next.startsWith("//")) router.history.push(next);
    else void navigate({ to: "/" });
  };
}
