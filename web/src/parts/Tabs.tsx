import { Link } from "@tanstack/react-router";

/** Links to the parts of a page. Which one is shown is in the address as `tab`; the first one needs no word there. */
export function Tabs<Tab extends string>(props: {
  label: string;
  tabs: readonly (readonly [tab: Tab, label: string])[];
  shown: Tab;
}) {
  const first = props.tabs[0]?.[0];
  return (
    <nav className="tabs" aria-label={props.label}>
      {props.tabs.map(([tab, label]) => (
        <Link
          key={tab}
          to="."
          search={(before) => ({ ...before, tab: tab === first ? undefined : tab }) as never}
          aria-current={tab === props.shown ? "page" : undefined}
          activeProps={{}}
          resetScroll={false}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
