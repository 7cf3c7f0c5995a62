import type { BoundedCommandResult } from '@caisson/ground';
import type { AgentTool } from '@earendil-works/pi-agent-core';
import {
  numberOr,
  parameters,
  resolveIn,
  stringOf,
  textOr,
  textResult,
  type ToolPlace,
} from './native-tool.ts';

const DEFAULT_TIMEOUT_S = 120;
const MAX_TIMEOUT_S = 3600;
const SEARCH_TIMEOUT_MS = 60_000;

type RunCommand = typeof import('./run-command.ts').runCommand;

export const bashTool = (place: ToolPlace): AgentTool => ({
  name: 'bash',
  label: 'bash',
  description:
    'Run a shell command in the workspace. Returns its output and, when it is not 0, its exit code.',
  parameters: parameters(
    {
      command: { type: 'string', description: 'The command line for bash' },
      timeout: { type: 'number', description: `Seconds; default ${DEFAULT_TIMEOUT_S}` },
    },
    ['command'],
  ),
  execute: async (_id, input, signal) => {
    const seconds = Math.min(MAX_TIMEOUT_S, Math.max(1, numberOr(input, 'timeout', DEFAULT_TIMEOUT_S)));
    const result = await run(place, 'bash', ['-c', stringOf(input, 'command')], seconds * 1000, signal);
    const output = outputOf(result);
    if (result.timedOut) throw new Error(`${output}\nThe command was ended after ${seconds} s.`);
    if (result.exitCode !== 0)
      throw new Error(`${output}\nExit code ${result.exitCode ?? result.signal ?? 'unknown'}.`);
    return textResult(output === '' ? '(no output)' : output);
  },
});

export const grepTool = (place: ToolPlace): AgentTool => ({
  name: 'grep',
  label: 'grep',
  description: 'Search file contents with an extended regular expression. Prints file:line:text.',
  parameters: parameters(
    {
      pattern: { type: 'string', description: 'Extended regular expression' },
      path: { type: 'string', description: 'File or folder; default the workspace' },
      glob: { type: 'string', description: 'Only files whose name matches, such as *.ts' },
    },
    ['pattern'],
  ),
  execute: async (_id, input, signal) => {
    const glob = textOr(input, 'glob', '');
    const args = [
      '-rnIE',
      '--exclude-dir=.git',
      '--exclude-dir=node_modules',
      ...(glob === '' ? [] : [`--include=${glob}`]),
    ];
    const where = resolveIn(place, textOr(input, 'path', '.'));
    const result = await run(
      place,
      'grep',
      [...args, '-e', stringOf(input, 'pattern'), '--', where],
      SEARCH_TIMEOUT_MS,
      signal,
    );
    if (result.exitCode === 1) return textResult('(no match)');
    if (result.exitCode !== 0) throw new Error(outputOf(result));
    return textResult(outputOf(result));
  },
});

export const findTool = (place: ToolPlace): AgentTool => ({
  name: 'find',
  label: 'find',
  description: 'Find files by name, such as *.ts, below a folder.',
  parameters: parameters(
    {
      pattern: { type: 'string', description: 'Name with wildcards' },
      path: { type: 'string', description: 'Folder; default the workspace' },
    },
    ['pattern'],
  ),
  execute: async (_id, input, signal) => {
    const where = resolveIn(place, textOr(input, 'path', '.'));
    const skipped = ['(', '-name', '.git', '-o', '-name', 'node_modules', ')', '-prune', '-o'];
    const args = [where, ...skipped, '-name', stringOf(input, 'pattern'), '-print'];
    const result = await run(place, 'find', args, SEARCH_TIMEOUT_MS, signal);
    if (result.exitCode !== 0) throw new Error(outputOf(result));
    return textResult(outputOf(result) || '(nothing found)');
  },
});

async function run(...args: Parameters<RunCommand>): ReturnType<RunCommand> {
  const { runCommand } = await import('./run-command.ts');
  return runCommand(...args);
}

function outputOf(result: BoundedCommandResult): string {
  const both = [result.stdout.toString('utf8'), result.stderr.toString('utf8')].filter((text) => text !== '');
  return both.join('\n').trimEnd();
}
