import {
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from "react";
import { hiddenIn } from "@/foreign/visible";
import { useTexts } from "@/texts/language";
import { Icon } from "./Icon";

type Around = {
  label: string;
  hint?: ReactNode;
  /** What is wrong with the value, if anything. */
  wrong?: string;
  isOptional?: boolean;
  /** What is in the control: characters in it that cannot be seen are told below it. */
  value?: unknown;
};

type Inside = {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
};

/** A label, a control, and below it what helps or what is wrong. */
export function Field(props: Around & { children: (inside: Inside) => ReactNode }) {
  const id = useId();
  const { common, entry } = useTexts();
  const below = props.wrong !== undefined || props.hint !== undefined ? `${id}-below` : undefined;
  const hidden = typeof props.value === "string" ? hiddenIn(props.value) : [];
  return (
    <div className="field">
      <label htmlFor={id}>
        {props.label} {props.isOptional && <span className="optional">({entry.optional})</span>}
      </label>
      {props.children({
        id,
        "aria-describedby": below,
        "aria-invalid": props.wrong === undefined ? undefined : true,
      })}
      {props.wrong !== undefined ? (
        <p className="wrong" id={below}>
          <Icon name="warning" />
          <span>{props.wrong || common.failedTitle}</span>
        </p>
      ) : (
        props.hint !== undefined && (
          <p className="hint" id={below}>
            {props.hint}
          </p>
        )
      )}
      {hidden.length > 0 && (
        <p className="wrong" role="status">
          <Icon name="warning" />
          <span>{common.hidden(hidden.join(", "))}</span>
        </p>
      )}
    </div>
  );
}

type TextProps = Omit<Around, "value"> &
  Omit<InputHTMLAttributes<HTMLInputElement>, "id" | "className">;

export function TextField({ label, hint, wrong, isOptional, ...rest }: TextProps) {
  return (
    <Field
      label={label}
      hint={hint}
      wrong={wrong}
      isOptional={isOptional}
      value={rest.value ?? rest.defaultValue}
    >
      {(inside) => <input type="text" {...rest} {...inside} className="input" />}
    </Field>
  );
}

type AreaProps = Omit<Around, "value"> &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "id" | "className"> & { isCode?: boolean };

export function AreaField({ label, hint, wrong, isOptional, isCode, ...rest }: AreaProps) {
  return (
    <Field
      label={label}
      hint={hint}
      wrong={wrong}
      isOptional={isOptional}
      value={rest.value ?? rest.defaultValue}
    >
      {(inside) => (
        <textarea
          spellCheck={isCode ? false : undefined}
          {...rest}
          {...inside}
          className={isCode ? "input mono" : "input"}
        />
      )}
    </Field>
  );
}

type Choices = readonly (readonly [value: string, label: string])[];
type SelectProps = Omit<Around, "value"> &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, "id" | "className" | "children"> & {
    choices: Choices;
  };

export function SelectField({ label, hint, wrong, isOptional, choices, ...rest }: SelectProps) {
  return (
    <Field label={label} hint={hint} wrong={wrong} isOptional={isOptional}>
      {(inside) => (
        <select {...rest} {...inside} className="input">
          {choices.map(([value, shown]) => (
            <option key={value} value={value}>
              {shown}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckField(
  props: {
    label: ReactNode;
    hint?: ReactNode;
  } & Omit<InputHTMLAttributes<HTMLInputElement>, "className" | "type">,
) {
  const { label, hint, ...rest } = props;
  return (
    <label className="check">
      <input type="checkbox" {...rest} />
      <span>
        {label}
        {hint !== undefined && <span className="faint small"> {hint}</span>}
      </span>
    </label>
  );
}

export function SearchField(
  props: { label: string } & Omit<InputHTMLAttributes<HTMLInputElement>, "className" | "type">,
) {
  const { label, ...rest } = props;
  return (
    <span className="search">
      <Icon name="search" />
      <input type="search" className="input" aria-label={label} placeholder={label} {...rest} />
    </span>
  );
}

/** A choice of a few, all in sight. */
export function Segments<T extends string>(props: {
  label: string;
  value: T;
  choices: readonly (readonly [value: T, label: string])[];
  onChange: (value: T) => void;
}) {
  return (
    <div className="segments" role="group" aria-label={props.label}>
      {props.choices.map(([value, shown]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => {
            props.onChange(value);
          }}
        >
          {shown}
        </button>
      ))}
    </div>
  );
}
