import { actions } from "./actions";
import { admin } from "./admin";
import { artifacts } from "./artifacts";
import { bench } from "./bench";
import { captured } from "./captured";
import { chart } from "./chart";
import { cluster } from "./cluster";
import { common } from "./common";
import { details } from "./details";
import { entry } from "./entry";
import { flavors } from "./flavors";
import { examples } from "./examples";
import { endpoints } from "./endpoints";
import { flow } from "./flow";
import { frame } from "./frame";
import { happened } from "./happened";
import { job } from "./job";
import { jobs } from "./jobs";
import { log } from "./log";
import { messages } from "./messages";
import { models } from "./models";
import { notices } from "./notices";
import { overview } from "./overview";
import { profile } from "./profile";
import { reasons } from "./reasons";
import { resources } from "./resources";
import { runs } from "./runs";
import { states } from "./states";
import { store } from "./store";
import { submit } from "./submit";
import { terminal } from "./terminal";
import { values } from "./values";
import { views } from "./views";

export const texts = {
  actions,
  admin,
  artifacts,
  bench,
  captured,
  chart,
  cluster,
  common,
  details,
  entry,
  flavors,
  examples,
  endpoints,
  flow,
  frame,
  happened,
  job,
  jobs,
  log,
  messages,
  models,
  notices,
  overview,
  profile,
  reasons,
  resources,
  runs,
  states,
  store,
  submit,
  terminal,
  values,
  views,
};
