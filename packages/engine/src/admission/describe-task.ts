import type { DispatchRequest } from './contract.ts';

/** A task in the requester's words: its text, or the command. Also for requests of any shape. */
export function describeTask({ task, argv }: DispatchRequest): string {
  return String(task ?? (Array.isArray(argv) ? argv.join(' ') : ''));
}
