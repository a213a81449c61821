import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useState, type FormEvent } from "react";
import { planQuery, useSubmitJob } from "@/api/plan";
import { ApiProblem, asProblem } from "@/api/problem";
import type { Template as SavedTemplate } from "@/api/templates";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Notice } from "@/parts/Empty";
import { AreaField, SelectField, TextField } from "@/parts/Field";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { specAsYaml } from "../job/spec";
import { EnvironmentField } from "./EnvironmentField";
import { EndpointsSection } from "./EndpointsSection";
import { FilesSection, MoreSection, SettingsSection } from "./sections";
import { formOfSpec, specOf, wrongOf, type Form } from "./form";
import { CodeField } from "./CodeField";
import { PlanPanel } from "./PlanPanel";
import { DeleteTemplate, SavedTemplates, SaveTemplate } from "./SavedTemplates";
import styles from "./submit.module.css";
import { fromTemplate, TEMPLATES, type Template } from "./templates";
import { useCode, type CodeUpload } from "./useCode";
import { WhereSection } from "./WhereSection";

const PAUSE_MS = 350;

/** What a section gets: the form, what is wrong with it, and how to change it. */
export type Part = {
  form: Form;
  wrong: Partial<Record<keyof Form, string>>;
  wrongRoles: Record<string, string>;
  set: (to: Partial<Form>) => void;
};

export function SubmitForm(props: {
  initial: Form;
  isClone: boolean;
  projects: readonly string[];
}) {
  const { submit: texts, common } = useTexts();
  const [form, setForm] = useState(props.initial);
  const [touched, setTouched] = useState<ReadonlySet<keyof Form>>(new Set());
  const [isAsked, setIsAsked] = useState(false);
  const [isKeeping, setIsKeeping] = useState(false);
  const [leaving, setLeaving] = useState<SavedTemplate>();
  const [requestId, setRequestId] = useState(() => newRequestId());
  const navigate = useNavigate();
  const { say } = useMessages();
  const submit = useSubmitJob();

  const spec = specOf(form);
  const asked = useSettled(JSON.stringify(spec), PAUSE_MS);
  const isBlank = !form.name && !form.command && form.kind !== "roles";
  const plan = useQuery({
    ...planQuery(JSON.parse(asked) as Record<string, unknown>),
    enabled: !isBlank,
    placeholderData: keepPreviousData,
  });
  const problem = submit.error ?? plan.error;
  const told = problem instanceof ApiProblem ? problem.fields : {};
  const all = wrongOf(told);
  const wrong = Object.fromEntries(
    Object.entries(all.fields).filter(([field]) => isAsked || touched.has(field as keyof Form)),
  ) as Part["wrong"];
  const general = submit.error && !Object.keys(told).length ? asProblem(submit.error) : undefined;

  const set = (to: Partial<Form>) => {
    setForm((before) => ({ ...before, ...to }));
    setTouched((before) => new Set([...before, ...(Object.keys(to) as (keyof Form)[])]));
    if (submit.error) submit.reset();
    setRequestId(newRequestId());
  };
  const code = useCode((digest) => {
    set({ code: digest });
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    setIsAsked(true);
    submit.mutate(
      { spec, requestId },
      {
        onSuccess: (job) => {
          say(texts.submitted(job.name));
          void navigate({ to: "/jobs/$id", params: { id: job.id } });
        },
        onError: () => {
          requestAnimationFrame(() => {
            document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
          });
        },
      },
    );
  };
  const part: Part = { form, wrong, wrongRoles: all.roles, set };
  const numWrong = Object.keys(wrong).length;
  return (
    <>
      <form className={styles.columns} onSubmit={send} noValidate>
        <div className={styles.form}>
          {!props.isClone && (
            <div className="toolbar">
              <span className="muted">{texts.start}</span>
              {(Object.keys(TEMPLATES) as Template[]).map((name) => (
                <Button
                  key={name}
                  isSmall
                  onClick={() => {
                    setForm((before) => fromTemplate(name, before));
                  }}
                >
                  {texts.templates[name]}
                </Button>
              ))}
              <SavedTemplates
                onChoose={(template) => {
                  const kept = formOfSpec(template.spec);
                  setForm((before) => ({ ...kept, project: before.project }));
                }}
                onDelete={setLeaving}
              />
              <Link to="/examples">{texts.moreExamples}</Link>
            </div>
          )}
          <WhatSection part={part} projects={props.projects} code={code} />
          <WhereSection part={part} />
          <EndpointsSection part={part} />
          <FilesSection part={part} />
          <SettingsSection part={part} />
          <MoreSection part={part} />
          {Object.keys(form.rest).length > 0 && (
            <section className="panel">
              <div className="panel-head">
                <h2>{texts.restTitle}</h2>
              </div>
              <div className="panel-body">
                <Code text={specAsYaml(form.rest)} label={texts.restTitle} />
              </div>
            </section>
          )}
          {isAsked && all.rest.length > 0 && (
            <Notice kind="bad">
              {all.rest.map((one) => (
                <div key={one}>{one}</div>
              ))}
            </Notice>
          )}
          {general && (
            <Notice kind="bad">
              {general.status === 0 ? common.unreachable : general.message}
            </Notice>
          )}
          <div className={styles.actions}>
            <Button
              type="submit"
              kind="primary"
              isBusy={submit.isPending}
              disabled={code.progress !== undefined}
            >
              {texts.submit}
            </Button>
            <Button
              disabled={isBlank || code.progress !== undefined}
              onClick={() => {
                setIsKeeping(true);
              }}
            >
              {texts.saveTemplate}
            </Button>
            <span role="status" className={numWrong ? "" : "muted"}>
              {code.progress
                ? texts.codeBusy
                : numWrong
                  ? texts.fix(numWrong)
                  : !isBlank && (plan.isFetching ? texts.checking : plan.isSuccess && texts.ready)}
            </span>
          </div>
        </div>
        <div className={styles.side}>
          <PlanPanel
            plan={plan.error ? undefined : plan.data}
            isChecking={plan.isFetching}
            spec={spec}
            isBlank={isBlank}
          />
        </div>
      </form>
      {leaving && (
        <DeleteTemplate
          template={leaving}
          onClose={() => {
            setLeaving(undefined);
          }}
        />
      )}
      {isKeeping && (
        <SaveTemplate
          spec={spec}
          project={form.project}
          onClose={() => {
            setIsKeeping(false);
          }}
        />
      )}
    </>
  );
}

function WhatSection(props: { part: Part; projects: readonly string[]; code: CodeUpload }) {
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
      </div>
    </section>
  );
}

function newRequestId(): string {
  return `web-${Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** A value once it has not changed for a while. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(value);
    }, ms);
    return () => {
      clearTimeout(timer);
    };
  }, [value, ms]);
  return settled;
}
