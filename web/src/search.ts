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

type Search = Record<string, unknown>;

/** A value under its name. One that is wrong is said to be none: what an address says is there otherwise. */
function under<Name extends string, Value>(
  search: Search,
  name: Name,
  value: Value | undefined,
): Partial<Record<Name, Value>> {
  return (value === undefined && !(name in search) ? {} : { [name]: value }) as never;
}

export function textIn<Name extends string>(search: Search, name: Name) {
  const value = search[name];
  const isWord = ["string", "number", "boolean"].includes(typeof value) && value !== "";
  return under(search, name, isWord ? String(value as string) : undefined);
}

export function numberIn<Name extends string>(search: Search, name: Name) {
  const value = typeof search[name] === "object" ? NaN : Number(search[name]);
  return under(search, name, Number.isFinite(value) ? value : undefined);
}

export function flagIn<Name extends string>(search: Search, name: Name) {
  const value = search[name];
  const isSet = value === true || value === "true" || value === 1;
  return under(search, name, isSet ? true : undefined);
}

export function choiceIn<Name extends string, Choice extends string>(
  search: Search,
  name: Name,
  choices: readonly Choice[],
) {
  return under(
    search,
    name,
    choices.find((choice) => choice === search[name]),
  );
}

export function listIn<Name extends string>(search: Search, name: Name) {
  const value = search[name];
  const words = Array.isArray(value)
    ? value.filter((one): one is string => typeof one === "string")
    : undefined;
  return under(search, name, words);
}
