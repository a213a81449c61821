import { hiddenIn } from "@/foreign/visible";
import { Button } from "@/parts/Button";
import { Icon } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import type { Pair } from "./form";
import styles from "./submit.module.css";

/** Rows of a name and a value. */
export function PairsField(props: {
  label: string;
  hint?: string;
  keyLabel: string;
  valueLabel: string;
  add: string;
  pairs: readonly Pair[];
  wrong?: string;
  suggestions?: readonly string[];
  onChange: (pairs: Pair[]) => void;
}) {
  const { common } = useTexts();
  const hidden = hiddenIn(props.pairs.map((pair) => pair.key + pair.value).join(""));
  const change = (at: number, to: Partial<Pair>) => {
    props.onChange(props.pairs.map((pair, index) => (index === at ? { ...pair, ...to } : pair)));
  };
  return (
    <fieldset className="field">
      <legend className="label">{props.label}</legend>
      {props.hint && <p className="hint">{props.hint}</p>}
      {props.pairs.map((pair, index) => (
        <div key={index} className={styles.pair}>
          <input
            className="input mono"
            aria-label={`${props.keyLabel} ${String(index + 1)}`}
            placeholder={props.keyLabel}
            value={pair.key}
            aria-invalid={
              props.wrong !== undefined && props.wrong.startsWith(pair.key) && pair.key !== ""
                ? true
                : undefined
            }
            onChange={(event) => {
              change(index, { key: event.target.value });
            }}
          />
          <input
            className="input mono"
            aria-label={`${props.valueLabel} ${String(index + 1)}`}
            placeholder={props.valueLabel}
            value={pair.value}
            onChange={(event) => {
              change(index, { value: event.target.value });
            }}
          />
          <Button
            kind="plain"
            icon="close"
            label={common.delete}
            onClick={() => {
              props.onChange(props.pairs.filter((_, at) => at !== index));
            }}
          />
        </div>
      ))}
      {hidden.length > 0 && (
        <p className="wrong" role="status">
          <Icon name="warning" />
          <span>{common.hidden(hidden.join(", "))}</span>
        </p>
      )}
      {props.wrong !== undefined && (
        <p className="wrong" role="alert">
          <Icon name="warning" />
          <span>{props.wrong}</span>
        </p>
      )}
      <div>
        <Button
          isSmall
          icon="plus"
          onClick={() => {
            props.onChange([...props.pairs, { key: "", value: "" }]);
          }}
        >
          {props.add}
        </Button>
      </div>
    </fieldset>
  );
}
