import type { DispatchRequest } from './contract.ts';

/** A task in the requester's words: its text, or the command. Also for requests of any shape. */
export function describeTask(request: DispatchRequest | null | undefined): string {
  const { task, argv } = request ?? {};
  return String(task ?? (Array.isArray(argv) ? argv.join(' ') : ''));
}
