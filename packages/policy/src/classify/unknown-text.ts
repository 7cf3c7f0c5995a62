/**
 * Characters that represent, in expanded text, what cannot be known without running something. Private-use characters,
 * so that they never equal typed text.
 */

/** The value of a variable that the line itself did not set. */
export const UNKNOWN = '\uE000';
/** The output of a downloader, decoder or interpreter: text that may be anything. */
export const UNTRUSTED = '\uE001';
/** The output of an ordinary program, as in `eval "$(direnv hook bash)"`. */
export const PRODUCED = '\uE002';
/** Opens the text that a process substitution would deliver. */
export const PROCESS = '\uE003';

/** Marks text that contains a secret. */
export const SECRET = '\uE004';
/** Opens the name that a variable refers to: `declare -n`. */
export const REFERENCE = '\uE005';
/** Stands between the elements of a list. */
export const LIST_BREAK = '\uE006';
/** Marks text that is a whole store of data: a database dump, a working folder. */
export const STORE = '\uE007';

const ANY_UNKNOWN = /[\uE000-\uE002]/;
const ALL_UNKNOWN = /[\uE000-\uE007]/g;

export function isUnknown(text: string): boolean {
  return ANY_UNKNOWN.test(text);
}

export function withoutUnknown(text: string): string {
  return text.replace(ALL_UNKNOWN, '');
}
