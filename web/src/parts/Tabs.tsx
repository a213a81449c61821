import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

/** Links to the parts of a page. Which one is shown is in the address as `tab`; the first one needs no word there. */
export function Tabs<Tab extends string>(props: {
  label: string;
  tabs: readonly (readonly [tab: Tab, label: string])[];
  shown: Tab;
  /** Where another part may be shown without a word, the first one has one too. */
  isFirstNamed?: boolean;
}) {
  const nav = useRef<HTMLElement>(null);
  // on a narrow screen the tabs scroll
  useEffect(() => {
    nav.current
      ?.querySelector("[aria-current]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [props.shown]);
  const first = props.isFirstNamed ? undefined : props.tabs[0]?.[0];
  return (
    <nav className="tabs" aria-label={props.label} ref={nav}>
      {props.tabs.map(([tab, label]) => (
        <Link
          key={tab}
          to="."
          search={(before) => ({ ...before, tab: tab === first ? undefined : tab }) as never}
          // the shown one is marked here, not by comparing addresses
          activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
          aria-current={tab === props.shown ? "page" : undefined}
          resetScroll={false}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
