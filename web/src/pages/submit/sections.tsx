import { AreaField, SelectField, TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import { PairsField } from "./PairsField";
import { EMPTY } from "./form";
import type { Part } from "./SubmitForm";
import styles from "./submit.module.css";

export function FilesSection(props: { part: Part }) {
  const { submit: texts } = useTexts();
  const { form, wrong, set } = props.part;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.files}</h2>
      </div>
      <div className={`panel-body ${styles.fields ?? ""}`}>
        <PairsField
          label={texts.data}
          hint={texts.dataHint}
          keyLabel={texts.dataKey}
          valueLabel={texts.dataValue}
          add={texts.addData}
          pairs={form.data}
          wrong={wrong.data}
          onChange={(data) => {
            set({ data });
          }}
        />
        <TextField
          label={texts.output}
          isOptional
          hint={texts.outputHint}
          placeholder="store://main/results"
          value={form.output}
          wrong={wrong.output}
          onChange={(event) => {
            set({ output: event.target.value });
          }}
        />
      </div>
    </section>
  );
}

export function SettingsSection(props: { part: Part }) {
  const { submit: texts } = useTexts();
  const { form, wrong, set } = props.part;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.settings}</h2>
      </div>
      <div className={`panel-body ${styles.fields ?? ""}`}>
        <PairsField
          label={texts.hyperparameters}
          hint={texts.hyperparametersHint}
          keyLabel={texts.key}
          valueLabel={texts.value}
          add={texts.add}
          pairs={form.hyperparameters}
          wrong={wrong.hyperparameters}
          onChange={(hyperparameters) => {
            set({ hyperparameters });
          }}
        />
        <PairsField
          label={texts.env}
          keyLabel={texts.key}
          valueLabel={texts.value}
          add={texts.add}
          pairs={form.env}
          wrong={wrong.env}
          onChange={(env) => {
            set({ env });
          }}
        />
      </div>
    </section>
  );
}

export function MoreSection(props: { part: Part }) {
  const { submit: texts } = useTexts();
  const { form, wrong, set } = props.part;
  const hasWrong = [
    wrong.tags,
    wrong.cpus,
    wrong.memory,
    wrong.priority,
    wrong.retries,
    wrong.maxDuration,
    wrong.maxWait,
    wrong.idleLimit,
    wrong.setup,
    wrong.access,
  ].some((one) => one !== undefined);
  return (
    <details
      className={`panel ${styles.more ?? ""}`}
      open={hasWrong || form.access !== EMPTY.access || undefined}
    >
      <summary>{texts.more}</summary>
      <div className={`panel-body ${styles.fields ?? ""}`}>
        <div className={styles.row}>
          <TextField
            label={texts.retries}
            hint={texts.retriesHint}
            inputMode="numeric"
            value={form.retries}
            wrong={wrong.retries}
            onChange={(event) => {
              set({ retries: event.target.value });
            }}
          />
          <TextField
            label={texts.priority}
            hint={texts.priorityHint}
            inputMode="numeric"
            value={form.priority}
            wrong={wrong.priority}
            onChange={(event) => {
              set({ priority: event.target.value });
            }}
          />
        </div>
        <div className={styles.row}>
          <TextField
            label={texts.maxDuration}
            isOptional
            hint={texts.durationHint}
            value={form.maxDuration}
            wrong={wrong.maxDuration}
            onChange={(event) => {
              set({ maxDuration: event.target.value });
            }}
          />
          <TextField
            label={texts.maxWait}
            isOptional
            hint={texts.durationHint}
            value={form.maxWait}
            wrong={wrong.maxWait}
            onChange={(event) => {
              set({ maxWait: event.target.value });
            }}
          />
          <TextField
            label={texts.idleLimit}
            isOptional
            hint={texts.idleLimitHint}
            value={form.idleLimit}
            wrong={wrong.idleLimit}
            onChange={(event) => {
              set({ idleLimit: event.target.value });
            }}
          />
        </div>
        {!form.flavor && (
          <div className={styles.row}>
            <TextField
              label={texts.cpus}
              isOptional
              hint={texts.cpusHint}
              inputMode="decimal"
              value={form.cpus}
              wrong={wrong.cpus}
              onChange={(event) => {
                set({ cpus: event.target.value });
              }}
            />
            <TextField
              label={texts.memory}
              isOptional
              hint={texts.memoryHint}
              value={form.memory}
              wrong={wrong.memory}
              onChange={(event) => {
                set({ memory: event.target.value });
              }}
            />
          </div>
        )}
        <AreaField
          label={texts.setup}
          isOptional
          isCode
          rows={3}
          hint={texts.setupHint}
          value={form.setup}
          wrong={wrong.setup}
          onChange={(event) => {
            set({ setup: event.target.value });
          }}
        />
        <SelectField
          label={texts.access}
          hint={texts.accessHint}
          value={form.access}
          wrong={wrong.access}
          choices={(["own", "read", "owner"] as const).map(
            (name) => [name, texts.accesses[name]] as const,
          )}
          onChange={(event) => {
            set({ access: event.target.value });
          }}
        />
        <SelectField
          label={texts.contract}
          hint={texts.contractHint}
          value={form.contract}
          wrong={wrong.contract}
          choices={[
            ["", texts.noContract],
            ["tione", "TI-ONE"],
            ["apulis", "Apulis"],
            ["modelarts", "ModelArts"],
          ]}
          onChange={(event) => {
            set({ contract: event.target.value });
          }}
        />
        <PairsField
          label={texts.tags}
          keyLabel={texts.key}
          valueLabel={texts.value}
          add={texts.add}
          pairs={form.tags}
          wrong={wrong.tags}
          onChange={(tags) => {
            set({ tags });
          }}
        />
      </div>
    </details>
  );
}
