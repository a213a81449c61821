import { chart } from "./chart";
import { common } from "./common";
import { entry } from "./entry";
import { frame } from "./frame";
import { job } from "./job";
import { jobs } from "./jobs";
import { runs } from "./runs";
import { states } from "./states";
import { values } from "./values";

export const texts = { chart, common, entry, frame, job, jobs, runs, states, values };
