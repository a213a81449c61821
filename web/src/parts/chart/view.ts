// How charts are looked at. It is kept in the address.
import { AXES, type Axis } from "@/api/runs";
import { choiceIn, flagIn, numberIn } from "@/search";

export type ChartView = { axis?: Axis; smoothing?: number; log?: boolean; hidden?: boolean };

export function chartViewIn(search: Record<string, unknown>): ChartView {
  return {
    ...choiceIn(search, "axis", AXES),
    ...numberIn(search, "smoothing"),
    ...flagIn(search, "log"),
    ...flagIn(search, "hidden"),
  };
}
