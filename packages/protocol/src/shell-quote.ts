const PLAIN = /^[\w./:=@%+,-]+$/;

/** The text as one word of a line for a shell. */
export const shellQuote = (text: string): string =>
  PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
