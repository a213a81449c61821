import { useMemo, useState } from "react";
import type { RunSummary } from "@/api/runs";
import { Button } from "@/parts/Button";
import type { Column } from "@/parts/DataTable";
import { CheckField, SearchField } from "@/parts/Field";
import { Menu } from "@/parts/Menu";
import { useTexts } from "@/texts/language";
import { keysOf, shortKey, type ValueKind } from "./values";
import styles from "./experiments.module.css";

const MOST = 60;
const KINDS: readonly ValueKind[] = ["metrics", "hparams", "summary"];

/** Which columns there are to see. Thousands of them do no harm: only what is looked for is listed. */
export function ColumnPicker(props: {
  runs: readonly RunSummary[];
  own: readonly Column<RunSummary>[];
  shown: readonly string[];
  onChange: (shown: string[] | undefined) => void;
}) {
  const { runs: texts } = useTexts();
  const [words, setWords] = useState("");
  const keys = useMemo(() => keysOf(props.runs), [props.runs]);
  const fits = (text: string) => text.toLowerCase().includes(words.trim().toLowerCase());
  const toggle = (id: string, isShown: boolean) => {
    props.onChange(
      isShown ? [...props.shown, id] : props.shown.filter((one) => one !== id && one !== ""),
    );
  };
  const tick = (id: string, label: string) => (
    <CheckField
      key={id}
      label={label}
      checked={props.shown.includes(id)}
      onChange={(event) => {
        toggle(id, event.target.checked);
      }}
    />
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
            props.onChange(undefined);
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
              {found.slice(0, MOST).map((key) => (
                <div key={key}>{tick(key, shortKey(key))}</div>
              ))}
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
