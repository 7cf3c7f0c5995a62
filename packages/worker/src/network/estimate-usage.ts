/**
 * The usage of an answer that did not report it: four bytes of text to a token, a rule of thumb of every vendor. It is
 * an estimate, rather too high than too low, and marked as one wherever it is shown; reasoning that is not sent is
 * invisible.
 */
import { members } from './members.ts';

const BYTES_PER_TOKEN = 4;
/** What a model may write if it works in the background, and no maximum was given. */
const MAX_ANSWER_TOKENS = 128_000;
/** Deeper nesting than any answer has is not read. */
const MAX_DEPTH = 64;

/** Members whose text the model wrote, in any of the four wire formats. */
const CONTENT: ReadonlySet<string> = new Set([
  ...['text', 'thinking', 'content', 'parts', 'delta', 'partial_json', 'arguments', 'input', 'args'],
  ...['reasoning', 'reasoning_content', 'refusal', 'summary', 'encrypted_content', 'signature', 'data'],
]);
/** Members of the same objects that it did not write. */
const ENVELOPE: ReadonlySet<string> = new Set([
  ...['type', 'id', 'role', 'object', 'status', 'model', 'item_id', 'call_id', 'tool_use_id', 'index'],
]);

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Of one event of a stream, or of a whole answer. */
export function tokensOfPiece(value: unknown): number {
  return tokensOfBytes(contentBytes(value, false, 0));
}

/** What may be written after the answer has ended, if the request runs in the background. */
export function tokensInBackground(value: unknown): number {
  const top = members(value);
  const body = 'background' in top ? top : members(top['response']);
  if (body['background'] !== true) return 0;
  const most = body['max_output_tokens'];
  return typeof most === 'number' && Number.isSafeInteger(most) && most > 0 ? most : MAX_ANSWER_TOKENS;
}

function contentBytes(value: unknown, isContent: boolean, depth: number): number {
  if (depth > MAX_DEPTH) return 0;
  if (typeof value === 'string') return isContent ? Buffer.byteLength(value) : 0;
  if (typeof value === 'number' || typeof value === 'boolean') return isContent ? 1 : 0;
  if (Array.isArray(value)) return sum(value.map((one) => contentBytes(one, isContent, depth + 1)));
  return sum(
    Object.entries(members(value)).map(([name, member]) =>
      ENVELOPE.has(name) ? 0 : contentBytes(member, isContent || CONTENT.has(name), depth + 1),
    ),
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
