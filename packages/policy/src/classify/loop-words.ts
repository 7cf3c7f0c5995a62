import { UNTRUSTED } from './unknown-text.ts';

const MAX_LOOP_WORDS = 8;
const MAX_OTHER_WORDS = 48;

/** A loop is walked for its first words and for each later one that differs by more than its digits. */
export function distinctWords(values: readonly string[]): readonly string[] {
  if (values.length <= MAX_LOOP_WORDS) return values;
  const shapes = new Map(values.toReversed().map((value) => [value.replace(/\d+/g, '0'), value]));
  const chosen = [...new Set([...values.slice(0, MAX_LOOP_WORDS), ...shapes.values()])];
  return chosen.length <= MAX_OTHER_WORDS ? chosen : [...chosen.slice(0, MAX_OTHER_WORDS), UNTRUSTED];
}
