import { chart } from "./chart";
import { common } from "./common";
import { entry } from "./entry";
import { frame } from "./frame";
import { job } from "./job";
import { jobs } from "./jobs";
import { states } from "./states";

export const texts = { chart, common, entry, frame, job, jobs, states };
