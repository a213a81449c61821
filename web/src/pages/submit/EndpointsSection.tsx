import { CheckField, TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import type { Part } from "./SubmitForm";
import styles from "./submit.module.css";

/** What can be opened while the job runs. */
export function EndpointsSection(props: { part: Part }) {
  const { endpoints: texts } = useTexts();
  const { form, wrong, set } = props.part;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.title}</h2>
      </div>
      <div className={`panel-body ${styles.fields ?? ""}`}>
        <CheckField
          label="SSH"
          checked={form.ssh}
          onChange={(event) => {
            set({ ssh: event.target.checked });
          }}
        />
        <CheckField
          label="JupyterLab"
          checked={form.jupyter}
          onChange={(event) => {
            set({ jupyter: event.target.checked });
          }}
        />
        <CheckField
          label="TensorBoard"
          checked={form.tensorboard}
          onChange={(event) => {
            set({ tensorboard: event.target.checked });
          }}
        />
        <TextField
          label={texts.ports}
          isOptional
          hint={texts.portsHint}
          placeholder="8080"
          value={form.ports}
          wrong={wrong.ports}
          onChange={(event) => {
            set({ ports: event.target.value });
          }}
        />
      </div>
    </section>
  );
}
