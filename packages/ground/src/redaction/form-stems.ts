/** How a form may begin in the text, and which line breaks a wrapped encoding may have. */
import type { SecretForm } from './secret-forms.ts';

/** No form is shorter: a secret has at least six characters and no encoding makes it shorter than that. */
export const STEM_BYTES = 6;

/** Plain, from a terminal or Windows tool, and as JSON text shows it. */
const LINE_BREAKS = ['\n', '\r\n', '\\n', '\\r\\n'].map((text) => Buffer.from(text));

/** The first six bytes of the form, with one line break at every possible place: lines of six and more columns. */
export function listStems({ bytes, mayWrap }: SecretForm): Buffer[] {
  const stems = [bytes.subarray(0, STEM_BYTES)];
  if (!mayWrap) return stems;
  for (const lineBreak of LINE_BREAKS) {
    for (let at = 1; at < STEM_BYTES; at++) {
      const broken = Buffer.concat([bytes.subarray(0, at), lineBreak, bytes.subarray(at)]);
      stems.push(broken.subarray(0, STEM_BYTES));
    }
  }
  return distinct(stems);
}

/** The length of the line break at this place, 0 for none; `undecided` when the bytes end too early. */
export function lineBreakAt(bytes: Buffer, at: number): number | 'undecided' {
  for (const lineBreak of LINE_BREAKS) {
    const known = Math.min(lineBreak.length, bytes.length - at);
    if (bytes.compare(lineBreak, 0, known, at, at + known) !== 0) continue;
    return known === lineBreak.length ? known : 'undecided';
  }
  return 0;
}

/**
 * Two line breaks may begin alike (`
 * ` and `\r
 * ` as JSON text): the form must be tried once, not twice.
 */
function distinct(stems: readonly Buffer[]): Buffer[] {
  return [...new Map(stems.map((stem) => [stem.toString('latin1'), stem])).values()];
}
