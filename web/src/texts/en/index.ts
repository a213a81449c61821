import { common } from "./common";
import { entry } from "./entry";
import { frame } from "./frame";
import { job } from "./job";
import { jobs } from "./jobs";
import { log } from "./log";
import { states } from "./states";

export const texts = { common, entry, frame, job, jobs, log, states };
