/**
 * A waiting tool call with all that it was given, as text for the person who decides: one field a line, and text of
 * several lines behind its field. All of it is indented, so nothing in a value looks like a field or like the mark of
 * what was left out.
 */
import type { DescribedCall } from './describe-call.ts';

/** Characters. With every one of them escaped it still fits into a line to the host. */
const MAX = 128 * 1024;
const TAIL = MAX / 4;
const MAX_DEPTH = 16;
const STEP = '  ';

export interface WholeCall {
  readonly text: string;
  /** Characters that `text` does not have. */
  readonly leftOut: number;
}

/** `redact` gets each value whole: half a secret, or one between two indented lines, would not be recognised. */
export function describeWholeCall(
  { tool, input }: DescribedCall,
  redact: (value: unknown) => unknown = (value) => value,
): WholeCall {
  const lines: string[] = [];
  addField(lines, '', tool, redact(input), 0);
  return cut(lines.join('\n'));
}

function addField(lines: string[], indent: string, name: string, value: unknown, depth: number): void {
  const start = `${indent}${nameOf(name)}:`;
  const deeper = indent + STEP;
  const isNested = typeof value === 'object' && value !== null && depth < MAX_DEPTH;
  const fields = isNested ? Object.entries(value) : [];
  if (fields.length > 0) {
    lines.push(start);
    for (const [key, item] of fields) addField(lines, deeper, key, item, depth + 1);
    return;
  }
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const parts = text.split(/\r\n|[\n\r\u2028\u2029]/);
  if (parts.length === 1) return void lines.push(`${start} ${text}`);
  lines.push(start);
  for (const part of parts) lines.push(deeper + part);
}

/** An agent may name a field anything. */
function nameOf(name: string): string {
  return /^[\w.-]{1,100}$/.test(name) ? name : JSON.stringify(name.slice(0, 256));
}

function cut(text: string): WholeCall {
  if (text.length <= MAX) return { text, leftOut: 0 };
  const leftOut = text.length - MAX;
  const [head, tail] = [text.slice(0, MAX - TAIL), text.slice(-TAIL)];
  const mark = `\n… ${leftOut} characters were left out here …\n`;
  return { text: `${head}${mark}${tail}`.toWellFormed(), leftOut };
}
