import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { useSubmitJob } from "@/api/plan";
import { bucketsQuery } from "@/api/store";
import { FormDialog } from "@/parts/Dialog";
import { TextField } from "@/parts/Field";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

const ROOT = "/data/";

/** The store keeps no execute bits, and commands of Apulis call their scripts. */
const COPY = `set -e
mkdir -p -- "$1"
cp -r -- "$DANLU_DATA_DIR/staged/." "$1"
cd "$DANLU_DATA_DIR/staged"
find . -name '*.sh' -print0 | (cd "$1" && xargs -0 -r chmod +x --)
`;

/** Files of a bucket into the folder that jobs of its project share (`contract: apulis`), by a job. */
export function ToData(props: { bucket: string; keys: readonly string[]; onClose: () => void }) {
  const { store: texts } = useTexts();
  const { say } = useMessages();
  const buckets = useQuery(bucketsQuery);
  const submit = useSubmitJob();
  const navigate = useNavigate();
  const [requestId] = useState(() => crypto.randomUUID());
  const [wrong, setWrong] = useState<string>();
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const to = String(new FormData(event.currentTarget).get("to"));
    if (!to.startsWith(ROOT) || to.split("/").includes("..")) {
      setWrong(texts.toDataWrong(to));
      return;
    }
    const spec = specOf(props.bucket, props.keys, to);
    const project = buckets.data?.find((one) => one.name === props.bucket)?.project;
    submit.mutate(
      { spec: { ...spec, ...(project === undefined ? {} : { project }) }, requestId },
      {
        onSuccess: (job) => {
          say(texts.toDataStarted(to));
          void navigate({ to: "/jobs/$id", params: { id: job.id } });
        },
      },
    );
  };
  return (
    <FormDialog
      title={texts.toData}
      action={texts.toData}
      fields={[]}
      error={submit.error}
      isBusy={submit.isPending || buckets.isPending}
      onSubmit={send}
      onClose={props.onClose}
    >
      <TextField
        label={texts.toDataFolder}
        name="to"
        hint={texts.toDataHint}
        wrong={wrong}
        defaultValue={ROOT}
        required
        autoCapitalize="none"
      />
    </FormDialog>
  );
}

function specOf(bucket: string, keys: readonly string[], to: string): Record<string, unknown> {
  const staged = keys.map((key) => [`store://${bucket}/${key}`, `staged/${nameOf(key)}`]);
  return {
    name: `put ${to.replaceAll("/", " ").trim()}`.slice(0, 100),
    command: ["bash", "-c", COPY, "put", to],
    contract: "apulis",
    data: Object.fromEntries(staged) as Record<string, string>,
  };
}

function nameOf(key: string): string {
  return key.replace(/\/$/, "").split("/").at(-1) ?? key;
}
