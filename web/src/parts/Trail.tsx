import { Link, type LinkProps } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { useTexts } from "@/texts/language";
import { Icon } from "./Icon";

/** Where one is: the pages above this one as links, and its own name. */
export function Trail(props: {
  above: readonly (readonly [label: string, place: LinkProps])[];
  here: ReactNode;
}) {
  const { frame: texts } = useTexts();
  return (
    <nav className="trail" aria-label={texts.trail}>
      {props.above.map(([label, place]) => (
        <Fragment key={label}>
          <Link {...place}>{label}</Link>
          <Icon name="right" />
        </Fragment>
      ))}
      <span aria-current="page">{props.here}</span>
    </nav>
  );
}
