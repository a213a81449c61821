import { useNavigate } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { asProblem } from "@/api/problem";
import { useMakeBucket } from "@/api/store";
import { FormDialog } from "@/parts/Dialog";
import { TextField } from "@/parts/Field";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

/** A new bucket of a project, of one's default one when none is chosen. */
export function MakeBucket(props: {
  project: string | undefined;
  suggested?: string;
  onClose: () => void;
}) {
  const { store: texts } = useTexts();
  const { say } = useMessages();
  const make = useMakeBucket();
  const navigate = useNavigate();
  const problem = make.error ? asProblem(make.error) : undefined;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name"));
    make.mutate(
      { name, project: props.project },
      {
        onSuccess: () => {
          say(texts.made(name));
          props.onClose();
          void navigate({ to: "/store", search: { bucket: name } });
        },
      },
    );
  };
  return (
    <FormDialog
      title={texts.makeBucket}
      action={texts.makeBucket}
      fields={["name"]}
      error={make.error}
      isBusy={make.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.bucketName}
        name="name"
        hint={texts.bucketHint}
        wrong={problem?.fields.name}
        defaultValue={props.suggested}
        required
        autoCapitalize="none"
      />
    </FormDialog>
  );
}
