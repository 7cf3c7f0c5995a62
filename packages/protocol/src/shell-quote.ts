/** The text as one word of a line for a shell. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
