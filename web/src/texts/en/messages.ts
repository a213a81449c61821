/** Texts of the server's messages by their codes; in English the server has made them already. */
export const messages: {
  templates: Readonly<Record<string, string>>;
  /** A parameter as it is read in this language. */
  param: (name: string, value: string) => string;
} = { templates: {}, param: (_, value) => value };
