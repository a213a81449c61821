import type { IconName } from "@/parts/Icon";
import type { Texts } from "@/texts/language";

export type NavEntry = {
  to: string;
  icon: IconName;
  label: (texts: Texts) => string;
  isAdminOnly?: boolean;
};

/** The side navigation, top to bottom. A page that is not in the router has no entry here. */
export const NAV: readonly NavEntry[] = [
  { to: "/", icon: "overview", label: (texts) => texts.frame.overview },
  { to: "/jobs", icon: "jobs", label: (texts) => texts.frame.jobs },
  { to: "/experiments", icon: "experiments", label: (texts) => texts.runs.title },
  { to: "/artifacts", icon: "file", label: (texts) => texts.artifacts.title },
  { to: "/models", icon: "models", label: (texts) => texts.models.title },
  { to: "/store", icon: "store", label: (texts) => texts.store.title },
  { to: "/examples", icon: "book", label: (texts) => texts.examples.title },
  { to: "/cluster", icon: "cluster", label: (texts) => texts.cluster.title },
  { to: "/bench", icon: "chart", label: (texts) => texts.bench.title },
  { to: "/projects", icon: "user", label: (texts) => texts.admin.projectsTitle },
  { to: "/admin", icon: "admin", label: (texts) => texts.admin.title, isAdminOnly: true },
];
