// Which language people read, and the texts in it. Only the chosen language is loaded.
import { createContext, use, useEffect, useMemo, useState, type ReactNode } from "react";
import type { texts as en } from "./en";
import type { Same } from "./shape";
import { speak } from "./told";

export type Texts = Same<typeof en>;
export type Language = "en" | "zh";
export const LANGUAGES: Record<Language, string> = { en: "English", zh: "简体中文" };

const KEY = "danlu.language";
const TAGS: Record<Language, string> = { en: "en", zh: "zh-CN" };

const load: Record<Language, () => Promise<Texts>> = {
  en: async () => (await import("./en")).texts,
  zh: async () => (await import("./zh")).texts,
};

type Speech = {
  language: Language;
  texts: Texts;
  setLanguage: (language: Language) => void;
};

const Spoken = createContext<Speech | null>(null);

/** What was chosen, else what the browser prefers. */
export function preferredLanguage(): Language {
  const kept = read(KEY);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.languages.some((tag) => tag.toLowerCase().startsWith("zh")) &&
    !navigator.languages[0]?.toLowerCase().startsWith("en")
    ? "zh"
    : "en";
}

export async function loadTexts(language: Language): Promise<Texts> {
  const texts = await load[language]();
  speak(texts.messages);
  return texts;
}

export function Speaking(props: { language: Language; texts: Texts; children: ReactNode }) {
  const [now, setNow] = useState({ language: props.language, texts: props.texts });
  const { language } = now;
  useEffect(() => {
    document.documentElement.lang = TAGS[language];
  }, [language]);
  const value = useMemo<Speech>(
    () => ({
      ...now,
      setLanguage: (language) => {
        keep(KEY, language);
        void loadTexts(language).then((texts) => {
          setNow({ language, texts });
        });
      },
    }),
    [now],
  );
  return <Spoken value={value}>{props.children}</Spoken>;
}

export function useSpeech(): Speech {
  const speech = use(Spoken);
  if (!speech) throw new Error("no language here: render inside <Speaking>");
  return speech;
}

export function useTexts(): Texts {
  return useSpeech().texts;
}

/** The tag that Intl wants. */
export function useLocale(): string {
  return TAGS[useSpeech().language];
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // storage may be forbidden; then it holds until the page is left
  }
}
