/** Texts of the server's messages by their codes; in English the server has made them already. */
export const messages: {
  templates: Readonly<Record<string, string>>;
  /** A parameter as it is read in this language. */
  param: (name: string, value: string) => string;
  /** Between two sentences of one text. */
  and: string;
  /** After what something is told of. */
  of: string;
} = { templates: {}, param: (_, value) => value, and: "; ", of: ": " };
