import { common } from "./common";
import { entry } from "./entry";
import { frame } from "./frame";
import { job } from "./job";
import { jobs } from "./jobs";
import { log } from "./log";
import { overview } from "./overview";
import { profile } from "./profile";
import { states } from "./states";
import { submit } from "./submit";

export const texts = {
  common,
  entry,
  frame,
  job,
  jobs,
  log,
  overview,
  profile,
  states,
  submit,
};
