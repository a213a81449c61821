// The form, and the job that it means. The rules are the server's; here is only the way there and back.
import type { Schemas } from "@/api/client";
import { shellLine } from "@/parts/shell";

export type Pair = { key: string; value: string };
export type Kind = "regular" | "distributed";

export type Form = {
  project: string;
  name: string;
  kind: Kind;
  /** Empty: devices are chosen by hand. */
  flavor: string;
  device: string;
  count: string;
  nodes: string;
  launch: string;
  preemptible: boolean;
  command: string;
  setup: string;
  /** Empty: an image, or the node's own Python. */
  framework: string;
  image: string;
  contract: string;
  code: string;
  data: Pair[];
  output: string;
  env: Pair[];
  hyperparameters: Pair[];
  tags: Pair[];
  cpus: string;
  memory: string;
  priority: string;
  retries: string;
  maxDuration: string;
  maxWait: string;
};

export const EMPTY: Form = {
  project: "",
  name: "",
  kind: "regular",
  flavor: "",
  device: "cpu",
  count: "1",
  nodes: "2",
  launch: "plain",
  preemptible: false,
  command: "",
  setup: "",
  framework: "",
  image: "",
  contract: "",
  code: "",
  data: [],
  output: "",
  env: [],
  hyperparameters: [],
  tags: [],
  cpus: "",
  memory: "",
  priority: "50",
  retries: "0",
  maxDuration: "",
  maxWait: "",
};

type Spec = Record<string, unknown>;

/** What is sent. Numbers that are none are sent as they are: the server says what is wrong with them. */
export function specOf(form: Form): Spec {
  const spec: Spec = {
    name: form.name,
    command: form.command,
    launch: form.launch,
    nodes: form.kind === "distributed" ? number(form.nodes) : 1,
    ...(form.flavor ? { flavor: form.flavor } : { resources: resourcesOf(form) }),
    preemptible: form.preemptible,
  };
  const texts = {
    setup: form.setup,
    framework: form.framework,
    image: form.framework ? "" : form.image,
    contract: form.contract,
    output: form.output,
  };
  for (const [key, value] of Object.entries(texts)) if (value) spec[key] = value;
  if (form.project) spec.project = form.project;
  if (form.code)
    spec.code = form.code.startsWith("store://") ? { store: form.code } : codeOf(form.code);
  if (form.data.length) spec.data = record(form.data);
  if (form.env.length) spec.env = record(form.env);
  if (form.tags.length) spec.tags = record(form.tags);
  if (form.hyperparameters.length) {
    spec.hyperparameters = Object.fromEntries(
      form.hyperparameters.filter(isGiven).map(({ key, value }) => [key, jsonOrText(value)]),
    );
  }
  if (form.priority !== EMPTY.priority) spec.priority = number(form.priority);
  if (form.retries !== EMPTY.retries) spec.retry = { max: number(form.retries) };
  if (form.maxDuration) spec.max_duration = form.maxDuration;
  if (form.maxWait) spec.max_wait = form.maxWait;
  return spec;
}

function resourcesOf(form: Form): Spec {
  return {
    device: `${form.device}:${form.count.trim() || "1"}`,
    ...(form.cpus && { cpus: number(form.cpus) }),
    ...(form.memory && { memory: form.memory }),
  };
}

/** The form of a job that there is, for a clone; undefined when the form cannot say all of it (roles). */
export function formOf(job: Schemas["JobOut"]): Form | undefined {
  const spec = job.spec as Spec;
  if (Object.keys((spec.roles ?? {}) as Spec).length) return undefined;
  const resources = spec.resources as Spec;
  const words = text(resources.device).split(":");
  const count = /^\d+$/.test(words.at(-1) ?? "") ? words.pop() : undefined;
  const code = spec.code as { store?: string; tree?: string } | null | undefined;
  const nodes = Number(spec.nodes ?? 1);
  return {
    ...EMPTY,
    project: job.project,
    name: job.name,
    kind: nodes > 1 ? "distributed" : "regular",
    flavor: text(spec.flavor),
    device: words.join(":"),
    count: count ?? "1",
    nodes: String(Math.max(nodes, nodes > 1 ? nodes : 2)),
    launch: text(spec.launch),
    preemptible: Boolean(spec.preemptible),
    command: commandText(spec.command),
    setup: text(spec.setup),
    framework: text(spec.framework),
    image: text(spec.image),
    contract: text(spec.contract),
    code: code?.store ?? code?.tree ?? "",
    data: pairs(spec.data),
    output: text(spec.output),
    env: pairs(spec.env),
    hyperparameters: Object.entries((spec.hyperparameters ?? {}) as Spec).map(([key, value]) => ({
      key,
      value: typeof value === "string" ? value : JSON.stringify(value),
    })),
    tags: pairs(spec.tags),
    cpus: text(resources.cpus),
    memory: text(resources.memory),
    priority: text(spec.priority) || EMPTY.priority,
    retries: text((spec.retry as Spec | undefined)?.max) || "0",
    maxDuration: text(spec.max_duration),
    maxWait: text(spec.max_wait),
  };
}

const FIELDS: readonly (readonly [prefix: string, field: keyof Form])[] = [
  ["name", "name"],
  ["project", "project"],
  ["command", "command"],
  ["setup", "setup"],
  ["resources.device", "count"],
  ["resources.cpus", "cpus"],
  ["resources.memory", "memory"],
  ["nodes", "nodes"],
  ["launch", "launch"],
  ["flavor", "flavor"],
  ["framework", "framework"],
  ["image", "image"],
  ["contract", "contract"],
  ["code", "code"],
  ["data", "data"],
  ["output", "output"],
  ["env", "env"],
  ["hyperparameters", "hyperparameters"],
  ["tags", "tags"],
  ["priority", "priority"],
  ["retry", "retries"],
  ["max_duration", "maxDuration"],
  ["max_wait", "maxWait"],
  ["preemptible", "preemptible"],
];

export type Wrong = { fields: Partial<Record<keyof Form, string>>; rest: string[] };

/** What the server said of each field, beside the field that it means. */
export function wrongOf(told: Readonly<Record<string, string>>): Wrong {
  const wrong: Wrong = { fields: {}, rest: [] };
  for (const [place, problem] of Object.entries(told)) {
    const field = FIELDS.find(([prefix]) => place === prefix || place.startsWith(`${prefix}.`));
    if (!field) {
      wrong.rest.push(`${place}: ${problem}`);
      continue;
    }
    const inner = place.slice(field[0].length + 1);
    wrong.fields[field[1]] ??= inner ? `${inner}: ${problem}` : problem;
  }
  return wrong;
}

function record(given: readonly Pair[]): Record<string, string> {
  return Object.fromEntries(given.filter(isGiven).map(({ key, value }) => [key.trim(), value]));
}

function isGiven(pair: Pair): boolean {
  return pair.key.trim() !== "" || pair.value !== "";
}

function number(given: string): number | string {
  const value = Number(given);
  return given.trim() !== "" && Number.isFinite(value) ? value : given;
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function codeOf(given: string): Spec {
  return /^[0-9a-f]{64}$/.test(given) ? { tree: given } : { store: given };
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function commandText(command: unknown): string {
  return Array.isArray(command) ? shellLine(command.map(String)) : text(command);
}

function pairs(value: unknown): Pair[] {
  return Object.entries((value ?? {}) as Record<string, unknown>).map(([key, inner]) => ({
    key,
    value: text(inner),
  }));
}
