import { hiddenIn, withoutHidden } from "@/foreign/visible";
import { shellLine } from "@/parts/shell";

/** The command in words, of one that is a list as well. */
export function commandOf(spec: Record<string, unknown>): string {
  const { command } = spec;
  if (typeof command === "string") return command;
  if (Array.isArray(command)) return shellLine(command.map(String));
  return "";
}

/** The flavors that a job names, with the roles that do. */
export function flavorsIn(spec: Record<string, unknown>): string {
  if (typeof spec.flavor === "string") return spec.flavor;
  const roles = Object.entries((spec.roles ?? {}) as Record<string, { flavor?: string | null }>);
  return roles
    .filter(([, role]) => role.flavor)
    .map(([name, role]) => `${role.flavor ?? ""} (${name})`)
    .join(", ");
}

/** A job file that says the same as a stored spec: what is left out or empty there is left out here. */
export function specAsYaml(spec: Record<string, unknown>): string {
  const roles = Object.entries((spec.roles ?? {}) as Record<string, Named>);
  const named = roles.map(([name, role]) => [name, withoutShape(role)] as const);
  return yaml(trimmed({ ...withoutShape(spec), roles: Object.fromEntries(named) }), "");
}

type Named = Record<string, unknown>;

/** Where a flavor is named, resources are what it stood for once. */
function withoutShape(named: Named): Named {
  return typeof named.flavor === "string" ? { ...named, resources: undefined } : named;
}

type Plain = string | number | boolean | null | Plain[] | { [key: string]: Plain };

function trimmed(value: unknown): Plain {
  if (Array.isArray(value)) return value.map(trimmed);
  if (typeof value !== "object" || value === null) return value as Plain;
  const kept = Object.entries(value)
    .map(([key, inner]) => [key, trimmed(inner)] as const)
    .filter(([, inner]) => inner !== null && inner !== undefined && !isEmpty(inner));
  return Object.fromEntries(kept);
}

function isEmpty(value: Plain): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function yaml(value: Plain, indent: string): string {
  if (typeof value !== "object" || value === null) return `${scalar(value, indent)}\n`;
  const entries = Array.isArray(value)
    ? value.map((inner) => ["-", inner] as const)
    : Object.entries(value).map(([key, inner]) => [`${scalar(key, indent)}:`, inner] as const);
  return entries
    .map(([head, inner]) => {
      if (typeof inner === "object" && inner !== null && !isEmpty(inner)) {
        return `${indent}${head}\n${yaml(inner, `${indent}  `)}`;
      }
      const shown = isEmpty(inner) ? (Array.isArray(inner) ? "[]" : "{}") : scalar(inner, indent);
      return `${indent}${head} ${shown}\n`;
    })
    .join("");
}

const PLAIN = /^[A-Za-z_/][\w./ ()+-]*$/;
const WORDS = /^(true|false|null|yes|no|on|off|y|n|~)$/i;

function scalar(value: Plain, indent: string): string {
  if (typeof value !== "string") return JSON.stringify(value);
  const isPrintable = !hiddenIn(value).length;
  if (isPrintable && value.includes("\n") && !/^\s|[^\S\n](\n|$)|\t/.test(value)) {
    const lines = value.replace(/\n$/, "").split("\n");
    const head = value.endsWith("\n\n") ? "|+" : value.endsWith("\n") ? "|" : "|-";
    return [head, ...lines.map((line) => (line ? `${indent}  ${line}` : ""))].join("\n");
  }
  if (PLAIN.test(value) && !WORDS.test(value) && !value.endsWith(" ")) return value;
  return withoutHidden(JSON.stringify(value), asYamlEscape);
}

function asYamlEscape(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}
