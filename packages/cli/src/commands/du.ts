import { relative } from 'node:path';
import type { ProjectUsage } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatTable } from '../format-table.ts';
import { formatBytes } from '../format-values.ts';
import type { Lines, Style } from '../painted.ts';
import { withCaissonToRead } from '../with-caisson.ts';

const WORTH_NAMING_BYTES = 1024 ** 2;

export const command = defineCommand({
  usage: '',
  about:
    'What this project takes on the disk, the largest first, and the command that frees it: the state folder by its parts, and the objects that only checkpoints need in your repository.',
  options: {},
  examples: [{ line: 'caisson du', says: 'Before you run caisson gc.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const usage = await caisson.usage();
      output.result(usage, () => format(usage, output.style, output.wrapColumns()));
      return EXIT_CODES.finished;
    }),
});

function format(
  { stateDir, bytes, parts, largest, refs }: ProjectUsage,
  { bold }: Style,
  columns: number,
): Lines {
  const rows = parts.map(({ bytes: size, name, what, frees }) => [
    formatBytes(size),
    name,
    join(what, frees),
  ]);
  if (refs !== null && refs.refs > 0) {
    const size = refs.bytes === null ? 'unknown' : formatBytes(refs.bytes);
    rows.push([
      size,
      'refs/caisson',
      join(`${refs.refs} ${refs.refs === 1 ? 'ref' : 'refs'} in your repository`, refs.frees),
    ]);
  }
  const single = largest.filter((holder) => holder.bytes >= WORTH_NAMING_BYTES);
  return [
    `${stateDir}: ${formatBytes(bytes)}`,
    ...formatTable([['SIZE', 'PART', 'WHAT, AND WHAT FREES IT'], ...rows], bold, columns),
    ...(single.length === 0 ? [] : ['', 'The largest of one run:']),
    ...single.map((holder) => `  ${formatBytes(holder.bytes)}  ${relative(stateDir, holder.path)}`),
  ];
}

function join(what: string, frees: string | null): string {
  return frees === null ? what : `${what}; ${frees}`;
}
