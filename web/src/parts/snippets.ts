// What the console teaches: every text here runs as it stands. tests/web/test_snippets.py reads them off the pages and
// runs them.
import { shellLine } from "./shell";

/** In a folder with a train.py. */
export const RUN_COMMAND = "danlu run --code . -- python train.py";

export const LOG_METRICS = `from danlu import track

run = track.start("mnist", hparams={"lr": 0.1})
for step in range(100):
    run.log("train", {"loss": 1 / (step + 1)}, step=step)
run.finish()`;

export const LOG_TEXT = `from danlu import track

run = track.start("mnist")
run.log_text("sample", "what the model wrote", step=1)
run.finish()`;

/** Beside a model.pt. */
export const KEEP_ARTIFACT = `from danlu import track

run = track.start("mnist")
model = track.artifact("mnist-model")
model.add_file("model.pt")
run.mark_output(model)
run.finish()`;

/** After KEEP_ARTIFACT has run. */
export const REGISTER_MODEL = "danlu models register mnist --artifact mnist-model:latest";

export function downloadArtifact(version: { name: string; project: string; version: number }) {
  const { name, project } = version;
  return danlu("artifacts", "download", `${name}:${String(version.version)}`, "-p", project);
}

export function downloadModel(version: { model: string; project: string; version: number }) {
  const { model, project } = version;
  return danlu("models", "download", `${project}/${model}:${String(version.version)}`);
}

/** Of a local folder `data` into a folder of the store. */
export function copyToStore(bucket: string, prefix: string): string {
  return danlu("store", "cp", "-r", "data", `store://${bucket}/${prefix}`);
}

export function runExample(name: string, isJob: boolean): string {
  const copy = danlu("examples", "copy", name, `my-${name.replaceAll("_", "-")}`);
  return isJob ? `${danlu("examples", "run", name)}\n${copy}` : copy;
}

export function exportKey(url: string, key: string): string {
  return `export ${shellLine([`DANLU_URL=${url}`])}\nexport ${shellLine([`DANLU_API_KEY=${key}`])}`;
}

function danlu(...words: string[]): string {
  return shellLine(["danlu", ...words]);
}
