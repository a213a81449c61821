import { useMemo, useState } from "react";
import type { RunSummary } from "@/api/runs";
import { Button } from "@/parts/Button";
import type { Column } from "@/parts/DataTable";
import { CheckField, SearchField } from "@/parts/Field";
import { Icon } from "@/parts/Icon";
import { Menu } from "@/parts/Menu";
import { useTexts } from "@/texts/language";
import { keysOf, shortKey, type ValueKind } from "./values";
import styles from "./experiments.module.css";

const MOST = 60;
const KINDS: readonly ValueKind[] = ["metrics", "hparams", "summary"];
const BEST = ["min", "max"] as const;

/** Which columns there are to see, and which stay in sight. Thousands of them do no harm: only what is looked for is
 * listed. */
export function ColumnPicker(props: {
  runs: readonly RunSummary[];
  own: readonly Column<RunSummary>[];
  shown: readonly string[];
  pinned: readonly string[];
  onShown: (shown: string[] | undefined) => void;
  onPinned: (pinned: string[]) => void;
}) {
  const { runs: texts } = useTexts();
  const [words, setWords] = useState("");
  const keys = useMemo(() => keysOf(props.runs), [props.runs]);
  const fits = (text: string) => text.toLowerCase().includes(words.trim().toLowerCase());
  const isShown = (id: string) => props.shown.includes(id);
  const toggle = (id: string) => {
    props.onShown(
      isShown(id)
        ? props.shown.filter((one) => one !== id && one !== "")
        : [...props.shown.filter((one) => one !== ""), id],
    );
  };
  const tick = (id: string, label: string, isMetric = false) => (
    <div key={id} className={styles.choice}>
      <CheckField
        label={label}
        checked={isShown(id)}
        onChange={() => {
          toggle(id);
        }}
      />
      {isMetric &&
        BEST.map((which) => (
          <button
            key={which}
            type="button"
            className={styles.best}
            aria-pressed={isShown(`${which}(${id})`)}
            aria-label={texts.bestColumn(which, label)}
            onClick={() => {
              toggle(`${which}(${id})`);
            }}
          >
            {texts.best[which]}
          </button>
        ))}
      {isShown(id) && (
        <button
          type="button"
          className={styles.best}
          aria-pressed={props.pinned.includes(id)}
          aria-label={texts.pinColumn(label)}
          title={texts.pinColumn(label)}
          onClick={() => {
            props.onPinned(
              props.pinned.includes(id)
                ? props.pinned.filter((one) => one !== id)
                : [...props.pinned, id],
            );
          }}
        >
          <Icon name="pin" />
        </button>
      )}
    </div>
  );
  return (
    <Menu label={texts.columns} icon="columns" shown={texts.columns} isSticky>
      <div className={styles.picker}>
        <SearchField
          label={texts.findColumn}
          value={words}
          onChange={(event) => {
            setWords(event.target.value);
          }}
        />
        <Button
          kind="plain"
          isSmall
          icon="again"
          onClick={() => {
            props.onShown(undefined);
          }}
        >
          {texts.usualColumns}
        </Button>
        <div className={styles.group}>{texts.ofRun}</div>
        {props.own
          .filter((column) => fits(column.title))
          .map((column) => tick(column.id, column.title))}
        {KINDS.map((kind) => {
          const found = keys[kind].filter(fits);
          if (!found.length) return null;
          return (
            <div key={kind}>
              <div className={styles.group}>{texts[kind]}</div>
              {found.slice(0, MOST).map((key) => tick(key, shortKey(key), kind === "metrics"))}
              {found.length > MOST && (
                <p className="faint small">{texts.moreColumns(found.length - MOST)}</p>
              )}
            </div>
          );
        })}
      </div>
    </Menu>
  );
}
