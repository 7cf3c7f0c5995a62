/**
 * What a thread says, as the main thread takes it. The user's code could post anything itself: what is no line of ours is as if
 * it had said nothing, and what is passed on is a line that the worker outside takes.
 */
import {
  isNestedDeeper,
  isRecord,
  MAX_LINE_LEVELS,
  MAX_NAME_CHARACTERS,
  readGuestLine,
} from '@caisson/protocol';
import type { ThreadLine } from './thread-messages.ts';

type Shape = Readonly<Record<string, unknown>>;

const isText = (value: unknown): boolean => typeof value === 'string';

/** `name`: of the module that the thread has loaded. */
export function readThreadLine(text: unknown, name: string): ThreadLine | null {
  if (typeof text !== 'string') return null;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && isLine(value, name) ? (value as unknown as ThreadLine) : null;
  } catch {
    return null; // only the user's own code posts what is no JSON
  }
}

function isLine(line: Shape, name: string): boolean {
  switch (line['kind']) {
    case 'pong':
      return true;
    case 'logged':
      return isText(line['text']);
    case 'role':
      return isRole(line['name']);
    case 'pinned':
      return isPinned(line);
    case 'loaded':
      return readGuestLine({ kind: 'ready', modules: [{ name, problem: line['problem'] }] }) !== null;
    case 'computed':
    case 'undelivered':
    case 'step':
    case 'worked':
    case 'turned':
      return (
        !isNestedDeeper(line, MAX_LINE_LEVELS) &&
        readGuestLine({ ...line, id: '', name, durationMs: 0 }) !== null
      );
    default:
      return false;
  }
}

const isRole = (name: unknown): boolean => typeof name === 'string' && name.length <= MAX_NAME_CHARACTERS;

function isPinned({ url, format, way, source }: Shape): boolean {
  return isText(url) && (format === null || isText(format)) && isText(source === undefined ? way : source);
}
