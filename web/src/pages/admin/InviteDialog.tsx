import type { FormEvent } from "react";
import { useInvite, type Role } from "@/api/people";
import { asProblem } from "@/api/problem";
import { FormDialog } from "@/parts/Dialog";
import { CheckField, TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import { LinkDialog } from "./LinkDialog";
import { ProjectAndRole } from "./ProjectAndRole";

export function InviteDialog(props: { onClose: () => void }) {
  const { admin: texts } = useTexts();
  const invite = useInvite();
  const problem = invite.error ? asProblem(invite.error) : undefined;
  const fields = problem?.fields ?? {};
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "");
    invite.mutate({
      name: text("name"),
      full_name: text("full_name"),
      email: text("email"),
      is_admin: form.get("is_admin") !== null,
      project: text("project") || undefined,
      role: text("role") as Role,
    });
  };
  if (invite.data)
    return <LinkDialog user={invite.data.user} url={invite.data.url} onClose={props.onClose} />;
  return (
    <FormDialog
      title={texts.inviteTitle}
      action={texts.invite}
      fields={["name", "full_name", "email", "project"]}
      error={invite.error}
      isBusy={invite.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <p className="muted">{texts.inviteText}</p>
      <TextField
        label={texts.name}
        name="name"
        required
        autoCapitalize="none"
        autoComplete="off"
        wrong={fields.name}
      />
      <TextField label={texts.fullName} name="full_name" isOptional wrong={fields.full_name} />
      <TextField label={texts.email} name="email" type="email" isOptional wrong={fields.email} />
      <ProjectAndRole wrong={fields.project} />
      <CheckField label={texts.isAdmin} name="is_admin" />
    </FormDialog>
  );
}
