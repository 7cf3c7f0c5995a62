/**
 * The ways in which a secret value appears in text: as it is, or in a usual encoding. Escapes are not among them: they
 * are undone before the search (decode-escapes.ts), so each form is also listed decoded.
 */
import { decodeForm } from './decode-escapes.ts';

export interface SecretForm {
  readonly bytes: Buffer;
  /** The tools that write this encoding break it into lines at a fixed width, at any place. */
  readonly mayWrap: boolean;
}

/** A decoded value may be too short; such a text is not searched for. */
const MIN_FORM_BYTES = 6;

/** Every form of `value` to search for, without duplicates, longest first. */
export function listSecretForms(value: string): SecretForm[] {
  const raw = Buffer.from(value, 'utf8');
  const text = raw.toString('utf8');
  const forms = new Map<string, SecretForm>();
  const add = (mayWrap: boolean, ...all: readonly string[]): void => {
    for (const bytes of all.flatMap(spellingsOf)) {
      const key = bytes.toString('latin1');
      if (bytes.length >= MIN_FORM_BYTES && !forms.has(key)) forms.set(key, { bytes, mayWrap });
    }
  };
  add(true, ...hexForms(raw), ...base64Forms(raw));
  add(false, text, text.replaceAll('\n', '\r\n'));
  return [...forms.values()].sort((a, b) => b.bytes.length - a.bytes.length);
}

/** As it is and without escapes; in a text, a last byte that could begin an escape may be part of one. */
function spellingsOf(form: string): Buffer[] {
  const bytes = Buffer.from(form);
  const decoded = decodeForm(bytes);
  return [bytes, decoded, ...(/[\\%]$/.test(form) ? [decoded.subarray(0, -1)] : [])];
}

function hexForms(raw: Buffer): string[] {
  const hex = raw.toString('hex');
  return [hex, hex.toUpperCase()];
}

/**
 * Inside a longer base64 text the value starts at one of three alignments. Only the characters that depend on the value
 * alone can be searched for; the one before and the one after also carry bits of the neighbours.
 */
function base64Forms(raw: Buffer): string[] {
  const forms: string[] = [];
  for (const lead of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(lead), raw]);
    const firstOwn = Math.ceil((lead * 8) / 6);
    const endOwn = Math.floor((shifted.length * 8) / 6);
    const standard = shifted.toString('base64').slice(firstOwn, endOwn);
    forms.push(standard, standard.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return forms;
}
