// Looking things up by names that other people chose: `constructor` and `__proto__` are names like all others.

/** What a table has under a name; undefined for names that every object knows. */
export function own<Value>(
  table: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** A table without names of its own: every one can be set, and is there only when it was. */
export function tableOf<Value>(
  entries: Iterable<readonly [name: string, value: Value]> = [],
): Record<string, Value> {
  const made = Object.create(null) as Record<string, Value>;
  for (const [name, value] of entries) made[name] = value;
  return made;
}
