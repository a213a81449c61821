import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState, type KeyboardEvent } from "react";
import { jobsQuery } from "@/api/jobs";
import { runsQuery } from "@/api/runs";
import { useMe } from "@/api/session";
import { bucketsQuery } from "@/api/store";
import { Dialog } from "@/parts/Dialog";
import { SearchField } from "@/parts/Field";
import { Icon, type IconName } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import styles from "./Frame.module.css";
import { NAV } from "./nav";

const MOST = 12;

type Entry = { id: string; icon: IconName; label: string; about: string; to: string };

/** One field that leads to every page, and to jobs, runs and buckets by name or id. */
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
    void navigate({ to: entry.to });
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
  const texts = useTexts();
  const me = useMe();
  const { data: jobs } = useQuery(jobsQuery());
  const { data: runs } = useQuery(runsQuery());
  const { data: buckets } = useQuery(bucketsQuery);
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
    ];
  }, [texts, me, jobs, runs, buckets]);
}
