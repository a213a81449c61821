import { Link, useNavigate } from "@tanstack/react-router";
import { useMe, useSignOut } from "@/api/session";
import { Icon } from "@/parts/Icon";
import { Menu, MenuItem } from "@/parts/Menu";
import { useTheme, type Theme } from "@/parts/theme";
import { LANGUAGES, useSpeech, type Language } from "@/texts/language";
import styles from "./Frame.module.css";

const THEMES: readonly Theme[] = ["system", "light", "dark"];

export function AccountMenu() {
  const me = useMe();
  const { texts, language, setLanguage } = useSpeech();
  const [theme, setTheme] = useTheme();
  const signOut = useSignOut();
  const navigate = useNavigate();
  const { frame } = texts;
  return (
    <Menu
      label={frame.account}
      className={styles.account}
      shown={
        <>
          <span className={styles.face} aria-hidden="true">
            {[...(me.full_name || me.name)][0]}
          </span>
          <span className={styles.who}>
            <span>{me.full_name || me.name}</span>
            {me.full_name && <span className="faint small">{me.name}</span>}
          </span>
        </>
      }
    >
      <Link to="/profile">
        <Icon name="user" />
        {frame.profile}
      </Link>
      <a href="/signin/cli" target="_blank" rel="noreferrer">
        <Icon name="terminal" />
        {frame.commandLine}
      </a>
      <hr />
      <div className="menu-head">{frame.language}</div>
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
      <div className="menu-head">{frame.theme}</div>
      {THEMES.map((one) => (
        <MenuItem
          key={one}
          isChosen={one === theme}
          onChoose={() => {
            setTheme(one);
          }}
        >
          {frame[one]}
        </MenuItem>
      ))}
      <hr />
      <MenuItem
        onChoose={() => {
          signOut.mutate(undefined, { onSettled: () => void navigate({ to: "/signin" }) });
        }}
      >
        {frame.signOut}
      </MenuItem>
    </Menu>
  );
}
