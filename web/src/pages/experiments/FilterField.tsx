import { Fragment, useEffect, useEffectEvent, useState } from "react";
import { asProblem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { SearchField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import styles from "./experiments.module.css";

const PAUSE_MS = 350;
const EXAMPLES = [
  "metrics.val.accuracy > 0.9 and hparams.lr < 0.01",
  "min(metrics.val.loss) < 0.2",
  "state in (failed, died) and created > '2026-01-31'",
  "name ~ mnist and not label = baseline",
  "hparams.optimizer.name = adam or summary.best_accuracy >= 0.95",
];

/** The server's filter language, asked for once one stops typing. */
export function FilterField(props: { value: string; onChange: (value: string) => void }) {
  const { runs: texts } = useTexts();
  const [typed, setTyped] = useState(props.value);
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  const commit = useEffectEvent(() => {
    if (typed !== props.value) props.onChange(typed);
  });
  useEffect(() => {
    setTyped(props.value);
  }, [props.value]);
  useEffect(() => {
    const timer = setTimeout(() => {
      commit();
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [typed]);
  return (
    <>
      <form
        className={styles.filter}
        onSubmit={(event) => {
          event.preventDefault();
          props.onChange(typed);
        }}
      >
        <SearchField
          label={texts.filter}
          value={typed}
          spellCheck={false}
          autoCapitalize="none"
          onChange={(event) => {
            setTyped(event.target.value);
          }}
        />
        <Button
          icon="info"
          label={texts.filterHelp}
          onClick={() => {
            setIsHelpOpen(true);
          }}
        />
      </form>
      {isHelpOpen && (
        <Help
          onUse={(example) => {
            setIsHelpOpen(false);
            props.onChange(example);
          }}
          onClose={() => {
            setIsHelpOpen(false);
          }}
        />
      )}
    </>
  );
}

/** Where a filter cannot be read, with the server's mark below that place. */
export function FilterProblem(props: { error: unknown }) {
  const { runs: texts } = useTexts();
  const { message } = asProblem(props.error);
  return (
    <div role="alert" className="notice bad">
      <div>
        <p>{texts.filterBad}</p>
        <pre className={styles.wrong} tabIndex={0} aria-label={texts.filterBad} role="region">
          {message.replace(/^filter(: |：)/, "")}
        </pre>
      </div>
    </div>
  );
}

export function isFilterProblem(error: unknown): boolean {
  return error !== null && asProblem(error).fields.filter !== undefined;
}

function Help(props: { onUse: (example: string) => void; onClose: () => void }) {
  const { runs: texts, common } = useTexts();
  const fields = [
    ["metrics.val.accuracy", texts.fieldMetric],
    ["hparams.optimizer.lr", texts.fieldHparam],
    ["summary.best", texts.fieldSummary],
    ["name id state folder owner job label description attempt step epoch", texts.fieldOwn],
    ["created started ended", texts.fieldTime],
  ] as const;
  return (
    <Dialog title={texts.filterHelp} isWide onClose={props.onClose}>
      <p className="muted">{texts.filterIntro}</p>
      <h3>{texts.fields}</h3>
      <dl className="pairs">
        {fields.map(([field, meaning]) => (
          <Fragment key={field}>
            <dt>
              <code>{field}</code>
            </dt>
            <dd>{meaning}</dd>
          </Fragment>
        ))}
      </dl>
      <p className="muted">{texts.filterSigns}</p>
      <h3>{texts.examples}</h3>
      <ul className={styles.main}>
        {EXAMPLES.map((example) => (
          <li key={example}>
            <button
              type="button"
              className="button plain small"
              onClick={() => {
                props.onUse(example);
              }}
            >
              <code>{example}</code>
            </button>
          </li>
        ))}
      </ul>
      <div className="actions">
        <Button onClick={props.onClose}>{common.close}</Button>
      </div>
    </Dialog>
  );
}
