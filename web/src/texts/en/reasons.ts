/** Code -> what it means, where the server's own words are not in this language. */
export const reasons: Record<string, { cause: string; remedy: string }> = {};
