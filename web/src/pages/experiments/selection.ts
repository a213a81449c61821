import { useState } from "react";
import { MOST_COMPARED } from "./RunActions";

type Selection = ReadonlySet<string>;

/** Which runs are ticked. As many as can be compared are in the address: going back finds them again. */
export function useSelection(
  kept: string | undefined,
  keep: (ids: string | undefined) => void,
): [Selection, (ids: Selection) => void] {
  const [chosen, setChosen] = useState<Selection>(() => new Set(kept?.split(",").filter(Boolean)));
  return [
    chosen,
    (ids) => {
      setChosen(ids);
      keep(ids.size && ids.size <= MOST_COMPARED ? [...ids].join() : undefined);
    },
  ];
}
