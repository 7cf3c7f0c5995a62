import { basename, relative } from 'node:path';
import type { StateUsage } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatTable } from '../format-table.ts';
import { formatBytes } from '../format-values.ts';
import type { Lines, Style } from '../painted.ts';
import { withCaissonToRead } from '../with-caisson.ts';

/** What each part is, and what makes it smaller. */
const PARTS: Readonly<Record<string, string>> = {
  'ledger.db': 'the events of all runs',
  store: 'patches, logs, replies, outputs; caisson forget RUN, then caisson gc',
  trash: 'workspaces of ended runs, also in their checkpoints; caisson gc --older-than 0s',
  'held-back': 'the only copy of work; caisson gc --held-back deletes it for good',
  worktrees: 'workspaces of runs that are under way, or were left',
  runtime: 'what running attempts need, and conversations that can be continued',
  registry: 'agents, capabilities, env bundles and pipelines',
};
const WORTH_NAMING_BYTES = 1024 ** 2;

export const command = defineCommand({
  usage: '',
  about:
    'What the state folder of this project takes on the disk, the largest first, and what makes it smaller.',
  options: {},
  examples: [{ line: 'caisson du', says: 'Before you run caisson gc.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const usage = await caisson.usage();
      output.result(usage, () => format(usage, output.style));
      return EXIT_CODES.finished;
    }),
});

function format({ stateDir, bytes, parts, largest }: StateUsage, { bold }: Style): Lines {
  const rows = parts.map((part) => {
    const name = basename(part.path);
    return [formatBytes(part.bytes), name, PARTS[name] ?? ''];
  });
  const single = largest.filter((holder) => holder.bytes >= WORTH_NAMING_BYTES);
  return [
    `${stateDir}: ${formatBytes(bytes)}`,
    ...formatTable([['SIZE', 'PART', 'WHAT'], ...rows], bold),
    ...(single.length === 0 ? [] : ['', 'The largest of one run:']),
    ...single.map((holder) => `  ${formatBytes(holder.bytes)}  ${relative(stateDir, holder.path)}`),
  ];
}
