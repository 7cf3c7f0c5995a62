import { lstatSync } from 'node:fs';
import { join } from 'node:path';

const READ_LATER = ['handoff.json', 'needs_input.json'] as const;
type ReadLater = (typeof READ_LATER)[number];

/**
 * Looks at the mailbox before the agent begins: without a sandbox it is a folder of the repository, whose commits may
 * contain such files. Returns whether a file is still the one of then, and so not the agent's.
 */
export function lookAtMailbox(mailbox: string): (name: ReadLater) => boolean {
  const before = new Map(READ_LATER.map((name) => [name, identify(join(mailbox, name))]));
  return (name) => {
    const then = before.get(name) ?? null;
    return then !== null && then === identify(join(mailbox, name));
  };
}

function identify(path: string): string | null {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined
    ? null
    : `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}
