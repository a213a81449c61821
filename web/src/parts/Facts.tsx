import type { ReactNode } from "react";

type Fact = readonly [name: string, value: ReactNode];

/** A few facts in a row below the head of a page. What is not a pair is left out. */
export function Facts(props: {
  items: readonly (Fact | string | number | boolean | null | undefined)[];
}) {
  return (
    <dl className="facts">
      {props.items
        .filter((item): item is Fact => Array.isArray(item))
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
