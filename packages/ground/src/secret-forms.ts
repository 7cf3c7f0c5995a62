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

/** What the usual encoders leave as it is, besides letters and digits; some write a space as a plus. */
const URL_ENCODERS: readonly { readonly safe: string; readonly plus?: true }[] = [
  { safe: "-_.!~*'()" }, // encodeURIComponent
  { safe: "-_.!~*'();/?:@&=+$,#" }, // encodeURI
  { safe: '-_.~' }, // RFC 3986: curl, jq, rawurlencode
  { safe: '-_.~/' }, // Python's quote
  { safe: '-_.~', plus: true }, // Go's QueryEscape, Python's quote_plus
  { safe: '-_.~$&+=:@' }, // Go's PathEscape
  { safe: '-_.*', plus: true }, // forms: URLSearchParams, Java
  { safe: '-_.', plus: true }, // PHP's urlencode
  { safe: '' }, // whoever wants to be sure
];

function urlForms(text: string): string[] {
  const all = URL_ENCODERS.map(({ safe, plus }) => {
    const bytes = [...Buffer.from(text, 'utf8')].map((byte) => {
      const char = String.fromCharCode(byte);
      if (/[A-Za-z0-9]/.test(char) || safe.includes(char)) return char;
      return char === ' ' && plus ? '+' : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    });
    return bytes.join('');
  });
  return [...all, ...all.map(lowerPercents)];
}

function lowerPercents(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
}

/** As the usual writers escape it, once and twice: a tool result inside an event line is JSON inside JSON. */
function jsonForms(text: string): string[] {
  const once = escapeJson(text);
  const ascii = escapeNonAscii(once);
  const html = asUnits(once, /[<>&]/g); // Go
  const all = [
    once,
    ascii,
    html,
    ...[once, ascii].map((form) => form.replaceAll('/', '\\/')), // PHP
    asUnits(once, /[<>&='\u2028\u2029]/g), // Gson, Rails
    upperUnits(escapeNonAscii(asUnits(once.replaceAll('\\"', '\\u0022'), /[<>&'+`]/g))), // .NET
  ];
  return [...all, upperUnits(ascii), ...all.map(escapeJson)];
}

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function escapeNonAscii(text: string): string {
  return asUnits(text, /[\u007f-\uffff]/g);
}

function asUnits(text: string, what: RegExp): string {
  return text.replace(what, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function upperUnits(text: string): string {
  return text.replace(/\\u[0-9a-f]{4}/g, (escape) => `\\u${escape.slice(2).toUpperCase()}`);
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
