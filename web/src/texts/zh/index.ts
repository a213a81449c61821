import { admin } from "./admin";
import { chart } from "./chart";
import { cluster } from "./cluster";
import { common } from "./common";
import { entry } from "./entry";
import { frame } from "./frame";
import { job } from "./job";
import { jobs } from "./jobs";
import { log } from "./log";
import { overview } from "./overview";
import { profile } from "./profile";
import { runs } from "./runs";
import { states } from "./states";
import { store } from "./store";
import { submit } from "./submit";
import { values } from "./values";

export const texts = {
  admin,
  chart,
  cluster,
  common,
  entry,
  frame,
  job,
  jobs,
  log,
  overview,
  profile,
  runs,
  states,
  store,
  submit,
  values,
};
