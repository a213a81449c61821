import { Button } from "@/parts/Button";
import { Icon } from "@/parts/Icon";
import { own } from "@/parts/own";
import { useTexts } from "@/texts/language";
import type { Form } from "./form";
import styles from "./submit.module.css";

export type FormState = "blank" | "code" | "checking" | "away" | "ready" | "wrong";

/** Always in sight: the button, whether the job is right, and what is not. */
export function SubmitBar(props: {
  wrong: Partial<Record<keyof Form, string>>;
  /** What none of the fields shows. */
  problems: readonly string[];
  state: FormState;
  isBusy: boolean;
  onSave: () => void;
}) {
  const { submit: texts, common, flavors, messages } = useTexts();
  const labels: Record<string, unknown> = { ...texts, ...flavors };
  const labelOf = (field: string) => {
    const label = own(labels, field);
    return typeof label === "string" ? `${label}${messages.of}` : "";
  };
  const { state, problems } = props;
  const fields = Object.entries(props.wrong);
  const told = {
    blank: "",
    code: texts.codeBusy,
    checking: texts.checking,
    away: common.unreachableTitle,
    ready: texts.ready,
    wrong: fields.length || problems.length ? "" : texts.incomplete,
  }[state];
  const isBad = fields.length > 0 || problems.length > 0 || state === "away";
  return (
    <div className={styles.submitBar}>
      {(fields.length > 0 || problems.length > 0) && (
        <div className={styles.problems} role="alert">
          <ul>
            {fields.map(([field, problem]) => (
              <li key={field}>
                <button
                  type="button"
                  className="link"
                  onClick={() => {
                    focusWrong(problem);
                  }}
                >
                  <Icon name="warning" />
                  <span>
                    {labelOf(field)}
                    {problem}
                  </span>
                </button>
              </li>
            ))}
            {problems.map((problem) => (
              <li key={problem}>
                <Icon name="warning" />
                <span>{problem}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      <div className={styles.actions}>
        <Button type="submit" kind="primary" isBusy={props.isBusy} disabled={state === "code"}>
          {texts.submit}
        </Button>
        <Button disabled={state === "blank" || state === "code"} onClick={props.onSave}>
          {texts.saveTemplate}
        </Button>
        <span
          role="status"
          className={isBad ? "bad-text" : state === "ready" ? "ok-text" : "muted"}
        >
          {fields.length ? texts.fix(fields.length) : told}
        </span>
      </div>
    </div>
  );
}

/** The field that a problem is told of. */
function focusWrong(problem: string): void {
  const found = [...document.querySelectorAll<HTMLElement>("[aria-invalid=true]")].find((field) =>
    field.closest(".field, fieldset")?.textContent.includes(problem),
  );
  const field = found ?? document.querySelector<HTMLElement>("[aria-invalid=true]");
  field?.scrollIntoView({ block: "center" });
  field?.focus({ preventScroll: true });
}
