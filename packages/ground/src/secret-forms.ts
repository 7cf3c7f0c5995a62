/** The ways in which a secret value shows up in text: as it is, or carried by a usual encoding. */

/** Every form of `value` to look for, without duplicates, longest first. */
export function listSecretForms(value: string): Buffer[] {
  const raw = Buffer.from(value, 'utf8');
  const text = raw.toString('utf8');
  const forms = new Set<string>();
  // latin1 keeps bytes one to one, so that the set compares bytes.
  const add = (form: string | Buffer): void => void forms.add(Buffer.from(form).toString('latin1'));
  add(raw);
  for (const form of [...urlForms(text), ...jsonForms(text), ...hexForms(raw), ...base64Forms(raw)])
    add(form);
  return [...forms].map((form) => Buffer.from(form, 'latin1')).sort((a, b) => b.length - a.length);
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
