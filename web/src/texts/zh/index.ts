import { chart } from "./chart";
import { common } from "./common";
import { entry } from "./entry";
import { frame } from "./frame";
import { job } from "./job";
import { jobs } from "./jobs";
import { log } from "./log";
import { overview } from "./overview";
import { profile } from "./profile";
import { reasons } from "./reasons";
import { runs } from "./runs";
import { states } from "./states";
import { submit } from "./submit";
import { values } from "./values";

export const texts = {
  chart,
  common,
  entry,
  frame,
  job,
  jobs,
  log,
  overview,
  profile,
  reasons,
  runs,
  states,
  submit,
  values,
};
