// The form, and the job that it means. The rules are the server's; here is only the way there and back.
import type { Schemas } from "@/api/client";
import { shellLine } from "@/parts/shell";

export type Pair = { key: string; value: string };
export type Kind = "regular" | "distributed" | "roles";

/** Nodes with a command of their own. */
export type RoleForm = {
  name: string;
  count: string;
  command: string;
  /** Empty: devices are chosen by hand. */
  flavor: string;
  device: string;
  devices: string;
  /** What the form does not show of it. */
  rest: Spec;
};

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
  processes: string;
  roles: RoleForm[];
  preemptible: boolean;
  access: string;
  ssh: boolean;
  jupyter: boolean;
  tensorboard: boolean;
  /** Ports that open in a browser, with spaces or commas between them. */
  ports: string;
  command: string;
  setup: string;
  /** A file of the code folder, or packages, one a line. */
  requirements: string;
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
  idleLimit: string;
  /** Fields of the job that the form does not show. They are sent as they came. */
  rest: Spec;
};

type Spec = Record<string, unknown>;

export const ROLE: RoleForm = {
  name: "",
  count: "1",
  command: "",
  flavor: "",
  device: "cpu",
  devices: "1",
  rest: {},
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
  processes: "per_node",
  roles: [],
  preemptible: false,
  access: "own",
  ssh: false,
  jupyter: false,
  tensorboard: false,
  ports: "",
  command: "",
  setup: "",
  requirements: "",
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
  idleLimit: "",
  rest: {},
};

/** What is sent. Numbers that are none are sent as they are: the server says what is wrong with them. */
export function specOf(form: Form): Spec {
  const spec: Spec = {
    ...form.rest,
    name: form.name,
    ...(form.kind === "roles" ? rolesOf(form) : alikeOf(form)),
    launch: form.launch,
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
  if (form.requirements.trim()) spec.requirements = requirementsOf(form.requirements);
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
  if (form.access !== EMPTY.access) spec.access = form.access;
  if (form.priority !== EMPTY.priority) spec.priority = number(form.priority);
  if (form.processes !== EMPTY.processes && form.launch === "ascend")
    spec.processes = form.processes;
  if (form.retries !== EMPTY.retries)
    spec.retry = { ...(form.rest.retry as Spec | undefined), max: number(form.retries) };
  const endpoints = endpointsOf(form);
  if (endpoints.length) spec.endpoints = endpoints;
  if (form.maxDuration) spec.max_duration = form.maxDuration;
  if (form.maxWait) spec.max_wait = form.maxWait;
  if (form.idleLimit) spec.idle_limit = form.idleLimit;
  return spec;
}

/** The form of a job that there is, for a clone. */
export function formOf(job: Schemas["JobOut"]): Form {
  return formOfSpec({ ...job.spec, name: job.name, project: job.project });
}

/** The form of a job as a file or the server has it. */
export function formOfSpec(spec: Spec): Form {
  const resources = (spec.resources ?? {}) as Spec;
  const [device, count] = deviceOf(resources);
  const code = spec.code as { store?: string; tree?: string } | null | undefined;
  const nodes = Number(spec.nodes ?? 1);
  const roles = Object.entries((spec.roles ?? {}) as Record<string, Spec>);
  return {
    ...EMPTY,
    project: text(spec.project),
    name: text(spec.name),
    kind: roles.length ? "roles" : nodes > 1 ? "distributed" : "regular",
    flavor: text(spec.flavor),
    device,
    count,
    nodes: String(nodes > 1 ? nodes : 2),
    launch: text(spec.launch) || EMPTY.launch,
    processes: text(spec.processes) || EMPTY.processes,
    roles: roles.map(([name, role]) => roleForm(name, role)),
    preemptible: Boolean(spec.preemptible),
    access: text(spec.access) || EMPTY.access,
    ...endpointFields(spec.endpoints),
    command: commandText(spec.command),
    setup: text(spec.setup),
    requirements: Array.isArray(spec.requirements)
      ? spec.requirements.map(String).join("\n")
      : text(spec.requirements),
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
    idleLimit: text(spec.idle_limit),
    rest: restOf(spec, HIDDEN),
  };
}

/** Fields that the form does not show, and what they are when nothing is said of them. */
const HIDDEN: Spec = {
  success: null,
  image_login: null,
  debug: false,
  grace: 30,
  retry: { max: 0, on: [], backoff: 5 },
};

function restOf(spec: Spec, hidden: Spec): Spec {
  const isUsual = (key: string) =>
    JSON.stringify(spec[key]) === JSON.stringify(hidden[key]) ||
    (key === "retry" && Object.keys(spec.retry as Spec).join() === "max");
  const kept = Object.keys(hidden).filter((key) => spec[key] !== undefined && !isUsual(key));
  return Object.fromEntries(kept.map((key) => [key, spec[key]]));
}

function alikeOf(form: Form): Spec {
  return {
    command: form.command,
    nodes: form.kind === "distributed" ? number(form.nodes) : 1,
    ...(form.flavor ? { flavor: form.flavor } : { resources: resourcesOf(form) }),
  };
}

function resourcesOf(form: Form): Spec {
  return {
    device: deviceText(form.device, form.count),
    ...(form.cpus && { cpus: number(form.cpus) }),
    ...(form.memory && { memory: form.memory }),
  };
}

function rolesOf(form: Form): Spec {
  const roles = form.roles.map(({ name, count, command, flavor, device, devices, rest }) => {
    const { resources, ...others } = rest;
    const byHand = { ...(resources as Spec | undefined), device: deviceText(device, devices) };
    const machine = flavor ? { flavor } : { resources: byHand };
    return [name, { ...others, ...(command && { command }), count: number(count), ...machine }];
  });
  return { roles: Object.fromEntries(roles) as Spec };
}

function roleForm(name: string, role: Spec): RoleForm {
  const resources = (role.resources ?? {}) as Spec;
  const [device, devices] = deviceOf(resources);
  const { env, ...rest } = role;
  const kept = restOf(resources, { cpus: null, memory: null });
  return {
    name,
    count: text(rest.count) || "1",
    command: commandText(rest.command),
    flavor: text(rest.flavor),
    device,
    devices,
    rest: {
      ...(Object.keys((env ?? {}) as Spec).length > 0 && { env }),
      ...(Object.keys(kept).length > 0 && { resources: kept }),
    },
  };
}

function deviceOf(resources: Spec): [device: string, count: string] {
  const words = (text(resources.device) || "cpu:1").split(":");
  const count = /^\d+$/.test(words.at(-1) ?? "") && words.length > 1 ? words.pop() : undefined;
  return [words.join(":"), count ?? "1"];
}

function deviceText(device: string, count: string): string {
  return `${device}:${count.trim() || "1"}`;
}

const PROGRAMS = ["ssh", "jupyter", "tensorboard"] as const;

function endpointsOf(form: Form): string[] {
  const ports = form.ports.split(/[\s,]+/).filter(Boolean);
  return [...PROGRAMS.filter((name) => form[name]), ...ports];
}

function endpointFields(value: unknown): Pick<Form, (typeof PROGRAMS)[number] | "ports"> {
  const names = Array.isArray(value) ? value.map(String) : [];
  return {
    ssh: names.includes("ssh"),
    jupyter: names.includes("jupyter"),
    tensorboard: names.includes("tensorboard"),
    ports: names.filter((name) => !PROGRAMS.some((one) => one === name)).join(" "),
  };
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

/** One word that is a file is that file; lines are packages. */
function requirementsOf(given: string): string | string[] {
  const lines = given.split("\n").map((line) => line.trim());
  const named = lines.filter(Boolean);
  const [first = ""] = named;
  return named.length === 1 && /\.(txt|in|toml|lock|ya?ml)$/.test(first) ? first : named;
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
