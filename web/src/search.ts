// Reading what an address says after the question mark. What it says wrongly is passed over.

/** What follows the question mark, as people would write it: no quotes around words and numbers. */
export function searchOf(text: string): Record<string, unknown> {
  return Object.fromEntries(
    [...new URLSearchParams(text)].map(([name, value]) => [name, listOr(value)]),
  );
}

export function addressPartOf(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value === undefined || value === null) continue;
    params.set(name, typeof value === "object" ? JSON.stringify(value) : String(value as string));
  }
  const text = params.toString();
  return text && `?${text}`;
}

function listOr(value: string): unknown {
  if (!value.startsWith("[")) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

export function textIn<Name extends string>(
  search: Record<string, unknown>,
  name: Name,
): Partial<Record<Name, string>> {
  const value = search[name];
  if (typeof value === "number" || typeof value === "boolean")
    return { [name]: String(value) } as never;
  return (typeof value === "string" && value !== "" ? { [name]: value } : {}) as never;
}

export function numberIn<Name extends string>(
  search: Record<string, unknown>,
  name: Name,
): Partial<Record<Name, number>> {
  const value = Number(search[name]);
  return (search[name] !== undefined && Number.isFinite(value) ? { [name]: value } : {}) as never;
}

export function flagIn<Name extends string>(
  search: Record<string, unknown>,
  name: Name,
): Partial<Record<Name, boolean>> {
  const value = search[name];
  return (value === true || value === "true" || value === 1 ? { [name]: true } : {}) as never;
}

export function choiceIn<Name extends string, Choice extends string>(
  search: Record<string, unknown>,
  name: Name,
  choices: readonly Choice[],
): Partial<Record<Name, Choice>> {
  const value = choices.find((choice) => choice === search[name]);
  return (value === undefined ? {} : { [name]: value }) as never;
}

export function listIn<Name extends string>(
  search: Record<string, unknown>,
  name: Name,
): Partial<Record<Name, string[]>> {
  const value = search[name];
  if (!Array.isArray(value)) return {};
  return { [name]: value.filter((one) => typeof one === "string") } as never;
}
