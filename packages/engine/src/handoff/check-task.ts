/** What a caller gives as a task, which the compiler may not have seen. */
import type { PoolTask } from './contract.ts';
import { PoolTaskError, type WorkerPlace } from './errors.ts';

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

type Rule = readonly [field: keyof PoolTask, is: (value: unknown) => boolean, must: string];

const NEEDED: readonly Rule[] = [
  ['id', isText, 'a text that is not empty'],
  ['description', isText, 'a text that is not empty'],
];

const OPTIONAL: readonly Rule[] = [
  ['scope', isTextList, 'a list of texts'],
  ['acceptance', isText, 'a text that is not empty'],
  ['branch', isText, 'a text that is not empty'],
  ['priority', (value) => typeof value === 'number', 'a number from 1 to 10'],
];

/** Throws PoolTaskError with the first field that is missing or wrong. */
export function checkTask(task: unknown, place: WorkerPlace): asserts task is PoolTask {
  if (typeof task !== 'object' || task === null) throw new PoolTaskError(place, 'it is no object');
  const given = new Map<string, unknown>(Object.entries(task));
  const asked = OPTIONAL.filter(([field]) => given.get(field) !== undefined);
  for (const [field, is, must] of [...NEEDED, ...asked]) {
    const value = given.get(field);
    if (is(value)) continue;
    const what = value === undefined ? 'it is missing' : `not ${JSON.stringify(value)}`;
    throw new PoolTaskError(place, `${field} must be ${must}; ${what}`);
  }
}

/** The name of a task for its errors, whatever was given. */
export function nameOf(task: unknown): string {
  const id = typeof task === 'object' && task !== null && 'id' in task ? task.id : undefined;
  return typeof id === 'string' && id !== '' ? id : '(without id)';
}
