import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "@/parts/Button";
import { CheckField, SearchField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import { LEVEL_NAMES, type Level } from "./levels";

/** What to look for in a log, and how its lines are shown. */
export function LogSearch(props: { find: (q: string, isRegex: boolean, level?: Level) => void }) {
  const { log: texts } = useTexts();
  const address = useSearch({ from: "/inside/jobs/$id/logs" });
  const navigate = useNavigate({ from: "/jobs/$id/logs" });
  const [typed, setTyped] = useState(address.q ?? "");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    props.find(typed, address.regex ?? false);
  };
  return (
    <>
      <form onSubmit={submit} role="search">
        <SearchField
          label={texts.search}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            if (!event.target.value) props.find("", address.regex ?? false);
          }}
        />
        <Button type="submit">{texts.find}</Button>
      </form>
      <CheckField
        label={texts.regex}
        checked={address.regex ?? false}
        onChange={(event) => {
          props.find(typed, event.target.checked);
        }}
      />
      <select
        className="input fit"
        aria-label={texts.level}
        value={address.level ?? ""}
        onChange={(event) => {
          const level = LEVEL_NAMES.find((one) => one === event.target.value);
          setTyped("");
          props.find("", false, level);
        }}
      >
        <option value="">{texts.allLevels}</option>
        {LEVEL_NAMES.map((level) => (
          <option key={level} value={level}>
            {texts.levels[level]}
          </option>
        ))}
      </select>
      <CheckField
        label={texts.wrap}
        checked={address.wrap ?? false}
        onChange={(event) => {
          const wrap = event.target.checked || undefined;
          void navigate({ search: (before) => ({ ...before, wrap }), replace: true });
        }}
      />
      <CheckField
        label={texts.times}
        checked={address.times ?? false}
        onChange={(event) => {
          const times = event.target.checked || undefined;
          void navigate({ search: (before) => ({ ...before, times }), replace: true });
        }}
      />
    </>
  );
}
