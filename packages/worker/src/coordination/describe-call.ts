/**
 * Describes a tool call for the person who decides about it, and for the record. Omissions are always marked. It does
 * not use policy: the judging code is loaded late, and this text is needed at once.
 */

const MAX = 2000;
const HEAD = 1000;
const TAIL = 500;
const CAUSE = 300;

export interface DescribedCall {
  readonly tool: string;
  readonly input: unknown;
}

export interface Judged {
  /** The part of the call that caused the decision. */
  readonly cause: string;
  readonly actionClass: string;
}

/** `redact` comes before the cut: half a secret would not be recognised. */
export function describeCall(
  call: DescribedCall,
  judged: Judged,
  redact: (text: string) => string = (text) => text,
): string {
  const text = redact(`${call.tool.slice(0, 256)}: ${wordsOf(call, judged)}`);
  if (text.length <= MAX) return text;
  const head = text.slice(0, HEAD);
  const tail = text.slice(-TAIL);
  const shown = `${head} … ${text.length - HEAD - TAIL} characters left out … ${tail}`;
  const why = redact(judged.cause);
  if (why === '' || why === call.tool || head.includes(why) || tail.includes(why)) return shown;
  return `${shown}\nDecided by: ${why.length <= CAUSE ? why : `${why.slice(0, CAUSE)} … ${why.length - CAUSE} characters left out`}`;
}

/** What a call is about, for readers of the run: its command, its files, what it looks for, or its whole input. */
export function describeInput(input: unknown): string {
  if (typeof input === 'string') return input;
  if (typeof input !== 'object' || input === null) return JSON.stringify(input) ?? '';
  const fields = input as Record<string, unknown>;
  const named = NAMED.map((name) => wordsIn(fields[name])).filter((words) => words !== '');
  return named.length === 0 ? JSON.stringify(input) : named.join(' in ');
}

/** Fields of the tools that agents have, in the order in which they are shown. */
const NAMED = [
  ...['command', 'cmd', 'changes', 'pattern', 'query', 'url'],
  ...['file_path', 'filePath', 'path', 'paths', 'notebook_path'],
];

function wordsIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value.map((part: unknown) => (typeof part === 'string' ? part : describeInput(part))).join(' ');
}

/** A command, the file of a file tool, or the whole input of an unknown tool, because any part of it may matter. */
function wordsOf({ tool, input }: DescribedCall, { cause, actionClass }: Judged): string {
  if (typeof input === 'string') return input;
  const all = JSON.stringify(input) ?? '';
  if (actionClass === 'unknown' || typeof input !== 'object' || input === null) return all;
  const fields = input as Record<string, unknown>;
  const command = fields['command'] ?? fields['cmd'];
  if (typeof command === 'string') return command;
  if (cause !== '' && cause !== tool) return cause;
  const path = fields['file_path'] ?? fields['filePath'] ?? fields['path'];
  return typeof path === 'string' ? path : all;
}
