// A form that was filled in and not sent yet. It is kept in this tab only, for one user.
import { useEffect } from "react";

const PREFIX = "danlu.draft ";

export type DraftKey = string;

/** Of a person, and of what the form began with: a job, an example or nothing. */
export function draftKey(person: string, origin: string): DraftKey {
  return `${PREFIX}${person} ${origin}`;
}

/** What was kept; fields that a newer console has are as in `empty`. */
export function readDraft<Form extends object>(key: DraftKey, empty: Form): Form | undefined {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(key) ?? "null");
    return typeof kept === "object" && kept !== null ? { ...empty, ...kept } : undefined;
  } catch {
    return undefined;
  }
}

export function dropDraft(key: DraftKey): void {
  write(() => {
    sessionStorage.removeItem(key);
  });
}

/** Drafts are deleted at sign-out, so that the next user does not see them. */
export function dropDrafts(): void {
  write(() => {
    for (const key of Object.keys(sessionStorage))
      if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  });
}

/** Keeps the form while it differs from what it began with. */
export function useDraft<Form>(key: DraftKey, form: Form, initial: Form): void {
  useEffect(() => {
    const isChanged = JSON.stringify(form) !== JSON.stringify(initial);
    write(() => {
      if (isChanged) sessionStorage.setItem(key, JSON.stringify(form));
      else sessionStorage.removeItem(key);
    });
  }, [key, form, initial]);
}

function write(action: () => void): void {
  try {
    action();
  } catch {
    // storage may be forbidden or full; then nothing is kept
  }
}
