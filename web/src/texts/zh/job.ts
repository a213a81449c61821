import type { Same } from "../shape";
import type { job as en } from "../en/job";

export const job: Same<typeof en> = {
  why: "原因",
};
