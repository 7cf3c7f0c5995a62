/** The ways in which a secret value shows up in text: as it is, or carried by a usual encoding. */

export interface SecretForm {
  readonly bytes: Buffer;
  /** The tools that write this encoding break it into lines at a fixed width, wherever that falls. */
  readonly mayWrap: boolean;
}

/** Every form of `value` to look for, without duplicates, longest first. */
export function listSecretForms(value: string): SecretForm[] {
  const raw = Buffer.from(value, 'utf8');
  const text = raw.toString('utf8');
  const forms = new Map<string, SecretForm>();
  const add = (mayWrap: boolean, ...all: readonly string[]): void => {
    for (const form of all) if (!forms.has(form)) forms.set(form, { bytes: Buffer.from(form), mayWrap });
  };
  add(true, ...hexForms(raw), ...base64Forms(raw));
  add(false, text, text.replaceAll('\n', '\r\n'), ...urlForms(text), ...jsonForms(text));
  return [...forms.values()].sort((a, b) => b.bytes.length - a.bytes.length);
}

function urlForms(text: string): string[] {
  const component = encodeURIComponent(text);
  const form = new URLSearchParams({ v: text }).toString().slice(2);
  const strict = component.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const all = [component, form, strict, encodeURI(text)];
  return [...all, ...all.map(lowerPercents)];
}

function lowerPercents(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
}

/** Once and twice escaped: a tool result inside an event line is JSON inside JSON. */
function jsonForms(text: string): string[] {
  const once = escapeJson(text);
  const ascii = escapeNonAscii(once);
  const slashed = once.replaceAll('/', '\\/');
  return [once, ascii, slashed, escapeJson(once), escapeJson(ascii)];
}

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function escapeNonAscii(text: string): string {
  return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function hexForms(raw: Buffer): string[] {
  const hex = raw.toString('hex');
  return [hex, hex.toUpperCase()];
}

/**
 * Inside a longer base64 text the value starts at one of three alignments. Only the characters that the value alone
 * decides can be looked for; the one before and the one after also carry bits of the neighbours.
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
