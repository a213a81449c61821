import { useState, type FormEvent } from "react";
import type { Schemas } from "@/api/client";
import { useChangeFramework, useMakeFramework, type Framework } from "@/api/flavors";
import { asProblem } from "@/api/problem";
import { FormDialog } from "@/parts/Dialog";
import { AreaField, CheckField, TextField } from "@/parts/Field";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import styles from "./admin.module.css";

type Mode = Schemas["LaunchMode"];
const MODES: readonly Mode[] = [
  "plain",
  "ddp",
  "ascend",
  "ps_worker",
  "mpi",
  "horovod",
  "deepspeed",
  "colossalai",
  "ray",
];
const FIELDS = ["name", "title", "image", "setup", "env", "launch", "description"] as const;

/** A new framework, or one that there is. */
export function FrameworkDialog(props: { framework: Framework | undefined; onClose: () => void }) {
  const { framework } = props;
  const { flavors: texts, common } = useTexts();
  const { say } = useMessages();
  const make = useMakeFramework();
  const change = useChangeFramework();
  const [badLine, setBadLine] = useState<string>();
  const error = make.error ?? change.error;
  const wrong = error ? told(asProblem(error).fields) : {};
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: (typeof FIELDS)[number]) => String(form.get(name) ?? "");
    const lines = text("env")
      .split("\n")
      .filter((line) => line.trim());
    const bad = lines.find((line) => !line.includes("="));
    setBadLine(bad);
    if (bad !== undefined) return;
    const name = framework?.name ?? text("name").trim();
    const values = {
      title: text("title").trim(),
      setup: text("setup"),
      env: Object.fromEntries(lines.map(pairOf)),
      launch: MODES.filter((mode) => form.get(`launch-${mode}`) !== null),
      description: text("description").trim(),
    };
    const image = text("image").trim();
    const onSuccess = () => {
      say(framework ? texts.changed(name) : texts.added(name));
      props.onClose();
    };
    if (framework) change.mutate({ name, image, ...values }, { onSuccess });
    else
      make.mutate(
        { name, ...values, image: image || undefined, setup: values.setup || undefined },
        { onSuccess },
      );
  };
  return (
    <FormDialog
      title={framework ? texts.changeFlavor(framework.name) : texts.addFramework}
      action={framework ? common.save : texts.addFramework}
      fields={FIELDS}
      error={error}
      isBusy={make.isPending || change.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      {!framework && (
        <TextField
          label={texts.name}
          name="name"
          hint={texts.frameworkNameHint}
          required
          autoComplete="off"
          autoCapitalize="none"
          wrong={wrong.name}
        />
      )}
      <TextField
        label={texts.title}
        name="title"
        isOptional
        hint={texts.titleHint}
        defaultValue={framework?.title}
        wrong={wrong.title}
      />
      <TextField
        label={texts.image}
        name="image"
        isOptional
        hint={texts.imageHint}
        placeholder="registry.example.com/team/torch:2.13"
        defaultValue={framework?.image ?? ""}
        wrong={wrong.image}
      />
      <AreaField
        label={texts.setup}
        name="setup"
        isOptional
        isCode
        rows={3}
        hint={texts.setupHint}
        defaultValue={framework?.setup ?? ""}
        wrong={wrong.setup}
      />
      <AreaField
        label={texts.env}
        name="env"
        isOptional
        isCode
        rows={3}
        hint={texts.envHint}
        defaultValue={Object.entries(framework?.env ?? {})
          .map(([key, value]) => `${key}=${value}`)
          .join("\n")}
        wrong={badLine === undefined ? wrong.env : texts.badLine(badLine)}
      />
      <fieldset className="field">
        <legend className="label">{texts.launch}</legend>
        <div className={styles.modes}>
          {MODES.map((mode) => (
            <CheckField
              key={mode}
              label={mode}
              name={`launch-${mode}`}
              defaultChecked={framework?.launch.includes(mode)}
            />
          ))}
        </div>
        <p className="hint">{wrong.launch ?? texts.launchHint}</p>
      </fieldset>
      <TextField
        label={texts.description}
        name="description"
        isOptional
        defaultValue={framework?.description}
        wrong={wrong.description}
      />
    </FormDialog>
  );
}

function pairOf(line: string): [string, string] {
  const at = line.indexOf("=");
  return [line.slice(0, at).trim(), line.slice(at + 1)];
}

/** What is wrong with a variable is said at all of them. */
function told(fields: Readonly<Record<string, string>>): Partial<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(fields).map(([place, problem]) => [
      place.split(".")[0] ?? place,
      place.includes(".") ? `${place.split(".").slice(1).join(".")}: ${problem}` : problem,
    ]),
  );
}
