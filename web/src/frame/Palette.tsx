import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState, type KeyboardEvent } from "react";
import { examplesQuery } from "@/api/examples";
import { jobsQuery } from "@/api/jobs";
import { modelsQuery } from "@/api/models";
import { projectsQuery } from "@/api/people";
import { runsQuery } from "@/api/runs";
import { useMe } from "@/api/session";
import { bucketsQuery } from "@/api/store";
import { Dialog } from "@/parts/Dialog";
import { SearchField } from "@/parts/Field";
import { Icon, type IconName } from "@/parts/Icon";
import { useIsDark, useTheme } from "@/parts/theme";
import { LANGUAGES, useSpeech, useTexts, type Language } from "@/texts/language";
import styles from "./Frame.module.css";
import { NAV } from "./nav";

const MOST = 12;

type Entry = {
  id: string;
  icon: IconName;
  label: string;
  about: string;
  /** Where it leads, or what it does. */
  to: string | (() => void);
};

/** One field that leads to every page, to things by name or id, and to what one does often. */
export function Palette(props: { onClose: () => void }) {
  const { frame: texts } = useTexts();
  const navigate = useNavigate();
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const entries = useEntries();
  const wanted = words.trim().toLowerCase();
  const found = entries
    .filter((one) => `${one.label} ${one.id}`.toLowerCase().includes(wanted))
    .slice(0, MOST);
  const open = (entry: Entry | undefined) => {
    if (!entry) return;
    props.onClose();
    if (typeof entry.to === "string") void navigate({ to: entry.to });
    else entry.to();
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((at + step + found.length) % Math.max(1, found.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(found[at]);
    }
  };
  return (
    <Dialog title={texts.goTo} isWide onClose={props.onClose}>
      <div onKeyDown={move}>
        <SearchField
          label={texts.goToHint}
          value={words}
          autoFocus
          onChange={(event) => {
            setWords(event.target.value);
            setAt(0);
          }}
        />
      </div>
      <ul className={styles.palette}>
        {found.map((entry, index) => (
          <li key={entry.id}>
            <button
              type="button"
              data-chosen={index === at}
              onClick={() => {
                open(entry);
              }}
            >
              <Icon name={entry.icon} />
              <span className="one-line">{entry.label}</span>
              <span className="faint small">{entry.about}</span>
            </button>
          </li>
        ))}
        {!found.length && <li className="muted">{texts.nothingFound}</li>}
      </ul>
      <p className="faint small">{texts.keys}</p>
    </Dialog>
  );
}

/** Pages first, then the newest things of each kind. */
function useEntries(): Entry[] {
  const { texts, language } = useSpeech();
  const me = useMe();
  const { data: jobs } = useQuery(jobsQuery());
  const { data: runs } = useQuery(runsQuery());
  const { data: buckets } = useQuery(bucketsQuery);
  const { data: models } = useInfiniteQuery(modelsQuery({}));
  const { data: projects } = useQuery(projectsQuery);
  const { data: examples } = useQuery(examplesQuery);
  const actions = useActions();
  return useMemo(() => {
    const pages = NAV.filter((entry) => !entry.isAdminOnly || me.is_admin).map((entry) => ({
      id: entry.to,
      icon: entry.icon,
      label: entry.label(texts),
      about: "",
      to: entry.to,
    }));
    return [
      ...pages,
      {
        id: "/submit",
        icon: "plus" as const,
        label: texts.frame.submit,
        about: "",
        to: "/submit",
      },
      {
        id: "/profile",
        icon: "user" as const,
        label: texts.frame.profile,
        about: "",
        to: "/profile",
      },
      ...actions,
      ...(jobs?.items ?? []).map((job) => ({
        id: job.id,
        icon: "jobs" as const,
        label: job.name,
        about: `${texts.states[job.state]} · ${job.id}`,
        to: `/jobs/${job.id}`,
      })),
      ...(runs?.items ?? []).map((run) => ({
        id: run.id,
        icon: "experiments" as const,
        label: run.name,
        about: run.folder,
        to: `/experiments/${run.id}`,
      })),
      ...(buckets ?? []).map((bucket) => ({
        id: `store://${bucket.name}`,
        icon: "store" as const,
        label: bucket.name,
        about: bucket.project,
        to: `/store?bucket=${encodeURIComponent(bucket.name)}`,
      })),
      ...(models?.pages ?? [])
        .flatMap((page) => page.items)
        .map((model) => ({
          id: `model ${model.project}/${model.name}`,
          icon: "models" as const,
          label: model.name,
          about: model.project,
          to: `/models/${encodeURIComponent(model.name)}?project=${encodeURIComponent(model.project)}`,
        })),
      ...(projects ?? []).map((project) => ({
        id: `project ${project.name}`,
        icon: "user" as const,
        label: project.name,
        about: texts.frame.project,
        to: `/projects/${encodeURIComponent(project.name)}`,
      })),
      ...(examples ?? []).map((example) => ({
        id: `example ${example.name}`,
        icon: "book" as const,
        label: example.title[language],
        about: texts.examples.title,
        to: `/examples/${encodeURIComponent(example.name)}`,
      })),
    ];
  }, [texts, language, me, jobs, runs, buckets, models, projects, examples, actions]);
}

/** What can be done from every page. */
function useActions(): Entry[] {
  const { texts, language, setLanguage } = useSpeech();
  const [, setTheme] = useTheme();
  const isDark = useIsDark();
  return useMemo(() => {
    const other: Language = language === "zh" ? "en" : "zh";
    const theme = isDark ? "light" : "dark";
    return [
      {
        id: "action theme",
        icon: "moon",
        label: `${texts.frame.theme}: ${texts.frame[theme]}`,
        about: texts.frame.action,
        to: () => {
          setTheme(theme);
        },
      },
      {
        id: "action language",
        icon: "globe",
        label: `${texts.frame.language}: ${LANGUAGES[other]}`,
        about: texts.frame.action,
        to: () => {
          setLanguage(other);
        },
      },
    ];
  }, [texts, language, setLanguage, setTheme, isDark]);
}
