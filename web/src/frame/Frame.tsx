import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { registrationsQuery } from "@/api/people";
import { useMe } from "@/api/session";
import { Button, buttonClass } from "@/parts/Button";
import { Icon } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import { AccountMenu } from "./AccountMenu";
import styles from "./Frame.module.css";
import { NAV } from "./nav";
import { NoticesMenu } from "./NoticesMenu";
import { ProjectPicker } from "./ProjectPicker";
import { usePaletteKeys } from "./shortcuts";

const PENDING_MS = 60_000;
const Palette = lazy(async () => ({ default: (await import("./Palette")).Palette }));

/** The frame around every page of a signed-in user. */
export function Frame() {
  const texts = useTexts();
  const [isOpen, setIsOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const main = useRef<HTMLElement>(null);
  const [isSearching, setIsSearching] = useState(false);
  usePaletteKeys(() => {
    setIsSearching(true);
  });
  useEffect(() => {
    setIsOpen(false);
  }, [path]);
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#main">
        {texts.frame.skip}
      </a>
      <header className={styles.top}>
        <Button
          kind="plain"
          icon={isOpen ? "close" : "menu"}
          label={isOpen ? texts.common.close : texts.frame.openNavigation}
          aria-expanded={isOpen}
          onClick={() => {
            setIsOpen(!isOpen);
          }}
        />
        <Brand />
      </header>
      <aside
        className={styles.side}
        data-open={isOpen}
        aria-label={texts.frame.sidebar}
        onKeyDown={(event) => {
          if (event.key === "Escape") setIsOpen(false);
        }}
      >
        <Brand />
        <ProjectPicker />
        <Button
          icon="search"
          onClick={() => {
            setIsSearching(true);
          }}
        >
          {texts.frame.goTo}
          <kbd className={styles.keys}>Ctrl K</kbd>
        </Button>
        <Navigation />
        <div className={styles.foot}>
          <NoticesMenu />
          <AccountMenu />
        </div>
      </aside>
      {isOpen && (
        <div
          className={styles.shade}
          onClick={() => {
            setIsOpen(false);
          }}
        />
      )}
      {isSearching && (
        <Suspense>
          <Palette
            onClose={() => {
              setIsSearching(false);
            }}
          />
        </Suspense>
      )}
      <main id="main" ref={main} className={styles.main} tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

function Navigation() {
  const texts = useTexts();
  const me = useMe();
  return (
    <nav className={styles.nav} aria-label={texts.frame.navigation}>
      <Link to="/submit" className={buttonClass("primary")}>
        <Icon name="plus" />
        {texts.frame.submit}
      </Link>
      <ul>
        {NAV.filter((entry) => !entry.isAdminOnly || me.is_admin).map((entry) => (
          <li key={entry.to}>
            <Link
              to={entry.to}
              className={styles.entry}
              activeOptions={{ exact: entry.to === "/", includeSearch: false }}
            >
              <Icon name={entry.icon} />
              {entry.label(texts)}
              {entry.isAdminOnly && <PendingBadge />}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** How many people wait to be approved; for admins. */
function PendingBadge() {
  const { admin: texts } = useTexts();
  const { data } = useQuery({ ...registrationsQuery, refetchInterval: PENDING_MS });
  if (!data?.length) return null;
  return (
    <span className={`badge plain wait ${styles.pending ?? ""}`} title={texts.pending(data.length)}>
      <span aria-hidden="true">{data.length}</span>
      <span className="hidden-visually">{texts.pending(data.length)}</span>
    </span>
  );
}

export function Brand() {
  return (
    <Link to="/" className={styles.brand}>
      <img src="/mark.svg" alt="" width="26" height="26" />
      <span>Danlu</span>
      <span lang="zh-CN" className={styles.han}>
        丹炉
      </span>
    </Link>
  );
}
