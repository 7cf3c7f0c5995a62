/** The settings in the text of a git config file, read as git reads them. */

/** Name and value, in the order of the file; null where git itself has to be asked, which then names a mistake, too. */
export function parseConfigText(text: string): [string, string][] | null {
  if (DOUBTFUL.test(text)) return null;
  const entries: [string, string][] = [];
  const rest = { text: text.replace(/^\u{feff}/u, '').replaceAll('\r\n', '\n'), at: 0 };
  let section: string | null = null;
  for (skipBlank(rest); rest.at < rest.text.length; skipBlank(rest)) {
    const header = take(rest, SECTION);
    if (header !== null) {
      const [, name = '', subsection] = header;
      section = name.toLowerCase() + (subsection === undefined ? '' : `.${unescapeName(subsection)}`);
      continue;
    }
    const key = take(rest, KEY);
    const value = key === null || section === null ? null : takeValue(rest);
    if (key === null || section === null || value === null) return null;
    entries.push([`${section}.${(key[1] ?? '').toLowerCase()}`, value]);
  }
  return entries;
}

interface Rest {
  readonly text: string;
  at: number;
}

/** A lone return, and bytes that are no text. */
const DOUBTFUL = /\r(?!\n)|[\0\ufffd]/;
const BLANK = /(?:[ \t\n]+|[#;][^\n]*)*/y;
const SECTION = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y;
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*/y;
/** What is in quotes, an escape, a comment, white space that may be at the end, anything else. */
const PART = /"|\\([\s\S])|([#;])[^\n]*|([ \t]+)|[^"\\#; \t\n]+/y;
const ESCAPES: Readonly<Record<string, string>> = {
  t: '\t',
  b: '\b',
  n: '\n',
  '\\': '\\',
  '"': '"',
  '\n': '',
};

function skipBlank(rest: Rest): void {
  take(rest, BLANK);
}

function take(rest: Rest, form: RegExp): RegExpExecArray | null {
  form.lastIndex = rest.at;
  const found = form.exec(rest.text);
  if (found !== null) rest.at = form.lastIndex;
  return found;
}

const unescapeName = (name: string): string => name.replace(/\\(.)/g, '$1');

/** A key without `=` means true. */
function takeValue(rest: Rest): string | null {
  const next = rest.text[rest.at] ?? '\n';
  if (next === '\n') return 'true';
  if (next !== '=') return null;
  rest.at += 1;
  let [value, space, isQuoted] = ['', '', false];
  for (;;) {
    if ((rest.text[rest.at] ?? '\n') === '\n') return isQuoted ? null : value;
    if (isQuoted && /[#; \t]/.test(rest.text[rest.at] ?? '')) {
      value += rest.text[rest.at];
      rest.at += 1;
      continue;
    }
    const [part = '', escaped, comment, blank] = take(rest, PART) ?? [];
    if (part === '') return null;
    if (comment !== undefined) continue;
    if (blank !== undefined) {
      if (blank.includes('\t') && value !== '') space = '\t'; // versions of git differ
      else if (value !== '') space += blank;
      continue;
    }
    if (space.includes('\t')) return null;
    value += space;
    space = '';
    if (part === '"') isQuoted = !isQuoted;
    else if (escaped === undefined) value += part;
    else if (ESCAPES[escaped] === undefined) return null;
    else value += ESCAPES[escaped];
  }
}
