import type { ReactNode } from "react";
import { Menu, MenuItem } from "@/parts/Menu";
import { LANGUAGES, useSpeech, type Language } from "@/texts/language";
import styles from "./entry.module.css";

/** The card in the middle of the pages before sign-in. */
export function EntryCard(props: { title: string; children: ReactNode; foot?: ReactNode }) {
  const { texts, language, setLanguage } = useSpeech();
  return (
    <main className={styles.page}>
      <div className={styles.brand}>
        <img src="/mark.svg" alt="" width="40" height="40" />
        <p>
          <span className={styles.name}>
            Danlu <span lang="zh-CN">丹炉</span>
          </span>
          <span className="muted">{texts.entry.motto}</span>
        </p>
      </div>
      <section className={`panel ${styles.card ?? ""}`}>
        <h1>{props.title}</h1>
        {props.children}
      </section>
      {props.foot && <p className={styles.foot}>{props.foot}</p>}
      <div>
        <Menu
          label={texts.frame.language}
          icon="globe"
          shown={LANGUAGES[language]}
          className="button plain small"
        >
          {(Object.keys(LANGUAGES) as Language[]).map((one) => (
            <MenuItem
              key={one}
              isChosen={one === language}
              onChoose={() => {
                setLanguage(one);
              }}
            >
              <span lang={one === "zh" ? "zh-CN" : "en"}>{LANGUAGES[one]}</span>
            </MenuItem>
          ))}
        </Menu>
      </div>
    </main>
  );
}
