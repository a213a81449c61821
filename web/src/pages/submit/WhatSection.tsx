import { AreaField, SelectField, TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import { CodeField } from "./CodeField";
import { EnvironmentField } from "./EnvironmentField";
import type { Part } from "./SubmitForm";
import styles from "./submit.module.css";
import type { CodeUpload } from "./useCode";

/** Name, project, command, code and environment. */
export function WhatSection(props: { part: Part; projects: readonly string[]; code: CodeUpload }) {
  const { submit: texts } = useTexts();
  const { form, wrong, set } = props.part;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.what}</h2>
      </div>
      <div className={`panel-body ${styles.fields ?? ""}`}>
        <div className={styles.row}>
          <TextField
            label={texts.name}
            hint={texts.nameHint}
            value={form.name}
            wrong={wrong.name}
            autoComplete="off"
            onChange={(event) => {
              set({ name: event.target.value });
            }}
          />
          <SelectField
            label={texts.project}
            value={form.project}
            wrong={wrong.project}
            choices={props.projects.map((name) => [name, name] as const)}
            onChange={(event) => {
              set({ project: event.target.value });
            }}
          />
        </div>
        {form.kind !== "roles" && (
          <AreaField
            label={texts.command}
            hint={texts.commandHint}
            isCode
            rows={Math.min(12, Math.max(3, form.command.split("\n").length + 1))}
            value={form.command}
            wrong={wrong.command}
            onChange={(event) => {
              set({ command: event.target.value });
            }}
          />
        )}
        <CodeField
          value={form.code}
          wrong={wrong.code}
          upload={props.code}
          onChange={(code) => {
            set({ code });
          }}
        />
        <EnvironmentField part={props.part} />
        {!form.image && (
          <AreaField
            label={texts.requirements}
            isOptional
            hint={texts.requirementsHint}
            isCode
            rows={Math.min(8, Math.max(1, form.requirements.split("\n").length))}
            value={form.requirements}
            wrong={wrong.requirements}
            onChange={(event) => {
              set({ requirements: event.target.value });
            }}
          />
        )}
      </div>
    </section>
  );
}
