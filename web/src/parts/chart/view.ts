// How charts are looked at. It is kept in the address.
import { AXES, type Axis } from "@/api/runs";
import { choiceIn, flagIn, numberIn, textIn } from "@/search";

export type ChartView = {
  axis?: Axis;
  smoothing?: number;
  log?: boolean;
  hidden?: boolean;
  /** Values far from the others are left out of sight. */
  outliers?: boolean;
  /** What runs are put together by, such as `hparams.lr`. */
  group?: string;
};

export function chartViewIn(search: Record<string, unknown>): ChartView {
  return {
    ...choiceIn(search, "axis", AXES),
    ...numberIn(search, "smoothing"),
    ...flagIn(search, "log"),
    ...flagIn(search, "hidden"),
    ...flagIn(search, "outliers"),
    ...textIn(search, "group"),
  };
}
