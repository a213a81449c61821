import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useState, type FormEvent } from "react";
import { planQuery, useSubmitJob } from "@/api/plan";
import { ApiProblem, asProblem } from "@/api/problem";
import type { Template as SavedTemplate } from "@/api/templates";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Notice } from "@/parts/Empty";
import { dropDraft, readDraft, useDraft, type DraftKey } from "@/parts/draft";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { specAsYaml } from "../job/spec";
import { EndpointsSection } from "./EndpointsSection";
import { FilesSection, MoreSection, SettingsSection } from "./sections";
import { EMPTY, formOfSpec, specOf, type Form } from "./form";
import { wrongOf } from "./wrong";
import { PlanPanel } from "./PlanPanel";
import { DeleteTemplate, SavedTemplates, SaveTemplate } from "./SavedTemplates";
import { SubmitBar } from "./SubmitBar";
import styles from "./submit.module.css";
import { fromTemplate, TEMPLATES, type Template } from "./templates";
import { useCode } from "./useCode";
import { WhatSection } from "./WhatSection";
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
  draft: DraftKey;
}) {
  const { submit: texts } = useTexts();
  const [restored, setRestored] = useState(() => readDraft(props.draft, EMPTY));
  const [initial] = useState(props.initial);
  const [form, setForm] = useState(restored ?? initial);
  useDraft(props.draft, form, initial);
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
    // what is said of the job stays true: a server that goes away is noticed
    refetchInterval: (query) => (query.state.error ? 3_000 : 10_000),
  });
  const isSettled = asked === JSON.stringify(spec);
  const problem = submit.error ?? plan.error;
  const told = problem instanceof ApiProblem ? problem.fields : {};
  const all = wrongOf(told);
  const wrong = Object.fromEntries(
    Object.entries(all.fields).filter(([field]) => isAsked || touched.has(field as keyof Form)),
  ) as Part["wrong"];
  const isAway = !isBlank && problem !== null && asProblem(problem).status === 0;
  const general =
    submit.error && !isAway && !Object.keys(told).length ? asProblem(submit.error) : undefined;

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
          dropDraft(props.draft);
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
  return (
    <>
      <form className={styles.columns} onSubmit={send} noValidate>
        <div className={styles.form}>
          {restored && (
            <Notice>
              {texts.draftRestored}{" "}
              <Button
                isSmall
                onClick={() => {
                  setRestored(undefined);
                  setForm(initial);
                }}
              >
                {texts.discardDraft}
              </Button>
            </Notice>
          )}
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
          <SubmitBar
            wrong={wrong}
            problems={[...(isAsked ? all.rest : []), ...(general ? [general.message] : [])]}
            state={
              code.progress
                ? "code"
                : isBlank
                  ? "blank"
                  : isAway
                    ? "away"
                    : !isSettled || plan.isPlaceholderData || plan.isPending
                      ? "checking"
                      : plan.isSuccess
                        ? "ready"
                        : "wrong"
            }
            isBusy={submit.isPending}
            onSave={() => {
              setIsKeeping(true);
            }}
          />
        </div>
        <div className={styles.side}>
          <PlanPanel
            plan={plan.error || isBlank ? undefined : plan.data}
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
