import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { useRegisterModel } from "@/api/models";
import { asProblem } from "@/api/problem";
import { useProject } from "@/frame/ProjectPicker";
import { useTexts } from "@/texts/language";
import { FormDialog } from "./Dialog";
import { AreaField, SelectField, TextField } from "./Field";
import { useMessages } from "./Messages";

type Source = "job" | "artifact" | "path";

/** Registers a model from a job's output, an artifact or a path; what is known already is filled in. */
export function RegisterModel(props: {
  name?: string;
  source?: Source;
  /** The job's id, the artifact's version or the path. */
  of?: string;
  project?: string;
  onClose: () => void;
}) {
  const { models: texts } = useTexts();
  const { say } = useMessages();
  const navigate = useNavigate();
  const looked = useProject();
  const project = props.project ?? looked;
  const register = useRegisterModel();
  const [source, setSource] = useState<Source>(props.source ?? "job");
  const problem = register.error ? asProblem(register.error) : undefined;
  const fields = problem?.fields ?? {};
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    register.mutate(
      {
        name: text("name"),
        project,
        [source]: text("of"),
        framework: text("framework"),
        format: text("format"),
        aliases: text("aliases")
          .split(/[,，\s]+/)
          .filter(Boolean),
        description: text("description"),
      },
      {
        onSuccess: (made) => {
          say(texts.registered(made.model, made.version));
          props.onClose();
          void navigate({
            to: "/models/$name",
            params: { name: made.model },
            search: { project: made.project },
          });
        },
      },
    );
  };
  const hints = { job: texts.jobHint, artifact: texts.artifactHint, path: texts.pathHint };
  const labels = { job: texts.fromJob, artifact: texts.fromArtifact, path: texts.fromPath };
  return (
    <FormDialog
      title={texts.register}
      action={texts.register}
      fields={["name", "job", "artifact", "path", "framework", "format", "aliases", "description"]}
      error={register.error}
      isBusy={register.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <p className="muted">{texts.registerText}</p>
      <TextField
        label={texts.name}
        name="name"
        required
        defaultValue={props.name}
        autoCapitalize="none"
        wrong={fields.name}
      />
      {props.of === undefined && (
        <SelectField
          label={texts.sourceKind}
          value={source}
          choices={(["job", "artifact", "path"] as const).map((one) => [one, labels[one]] as const)}
          onChange={(event) => {
            setSource(event.target.value as Source);
          }}
        />
      )}
      <TextField
        label={labels[source]}
        name="of"
        required
        defaultValue={props.of}
        readOnly={props.of !== undefined}
        hint={props.of === undefined ? hints[source] : undefined}
        wrong={fields[source]}
      />
      <TextField label={texts.framework} name="framework" isOptional wrong={fields.framework} />
      <TextField label={texts.format} name="format" isOptional wrong={fields.format} />
      <TextField
        label={texts.aliases}
        name="aliases"
        isOptional
        hint={texts.aliasesHint}
        wrong={fields.aliases}
      />
      <AreaField
        label={texts.description}
        name="description"
        rows={2}
        isOptional
        wrong={fields.description}
      />
    </FormDialog>
  );
}
