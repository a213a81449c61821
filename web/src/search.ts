// Reading what an address says after the question mark. What it says wrongly is passed over.

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
