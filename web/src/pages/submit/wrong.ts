// What the server finds wrong with a job, told at the fields of the form.
import type { Form } from "./form";

const FIELDS: readonly (readonly [prefix: string, field: keyof Form])[] = [
  ["name", "name"],
  ["project", "project"],
  ["command", "command"],
  ["setup", "setup"],
  ["requirements", "requirements"],
  ["resources.device", "count"],
  ["resources.cpus", "cpus"],
  ["resources.memory", "memory"],
  ["nodes", "nodes"],
  ["launch", "launch"],
  ["flavor", "flavor"],
  ["framework", "framework"],
  ["processes", "processes"],
  ["roles", "roles"],
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
  ["idle_limit", "idleLimit"],
  ["preemptible", "preemptible"],
  ["access", "access"],
  ["endpoints", "ports"],
];

export type Wrong = {
  fields: Partial<Record<keyof Form, string>>;
  /** What is wrong within roles, by place: `worker.command`. */
  roles: Record<string, string>;
  rest: string[];
};

/** What the server said of each field, beside the field that it means. */
export function wrongOf(told: Readonly<Record<string, string>>): Wrong {
  const wrong: Wrong = { fields: {}, roles: {}, rest: [] };
  for (const [place, problem] of Object.entries(told)) {
    const field = FIELDS.find(([prefix]) => place === prefix || place.startsWith(`${prefix}.`));
    if (!field) {
      wrong.rest.push(`${place}: ${problem}`);
      continue;
    }
    const inner = place.slice(field[0].length + 1);
    if (field[1] === "roles" && inner) wrong.roles[inner] = problem;
    wrong.fields[field[1]] ??= inner ? `${inner}: ${problem}` : problem;
  }
  return wrong;
}
