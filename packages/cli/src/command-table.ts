import type { RegistryKind } from '@caisson/protocol';
import type { CommandRow } from './command.ts';
import { RESIDENT_ROWS } from './resident-rows.ts';

/** Written out, because loading the schemas that know the kinds is too slow for a table. */
const KINDS: Readonly<Record<RegistryKind, string>> = {
  agents: 'agents',
  capabilities: 'capabilities',
  envs: 'env bundles',
  pipelines: 'pipelines',
};

function registryRows(kind: RegistryKind): CommandRow[] {
  const load = () => import('./commands/registry.ts');
  const what = KINDS[kind];
  return [
    {
      name: `${kind} register`,
      summary: `give a name to one of the ${what}, or its next version`,
      load: async () => ({ command: (await load()).registerCommand(kind) }),
    },
    {
      name: `${kind} list`,
      summary: `list the ${what}`,
      load: async () => ({ command: (await load()).listCommand(kind) }),
    },
    {
      name: `${kind} get`,
      summary: `show one of the ${what}`,
      load: async () => ({ command: (await load()).getCommand(kind) }),
    },
  ];
}

/** Every command. To add one: a file in commands/ that exports `command`, and a row here. */
export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'run',
    summary: 'give a task to an agent in a sealed sandbox',
    load: () => import('./commands/run.ts'),
  },
  {
    name: 'runs',
    aliases: ['ps', 'ls'],
    summary: 'list the runs of this project',
    load: () => import('./commands/runs.ts'),
  },
  {
    name: 'top',
    summary: 'watch all runs live in the terminal, and decide there',
    load: () => import('./commands/top.ts'),
  },
  {
    name: 'show',
    summary: "show a run's task, events, results and cost",
    load: () => import('./commands/show.ts'),
  },
  {
    name: 'attach',
    summary: 'watch a run of another process, as run shows it',
    load: () => import('./commands/attach.ts'),
  },
  {
    name: 'logs',
    summary: "print a run's events or its agent's output",
    load: () => import('./commands/logs.ts'),
  },
  {
    name: 'events',
    summary: 'print what happens in this project, for programs',
    load: () => import('./commands/events.ts'),
  },
  {
    name: 'mcp',
    summary: 'serve this project to an agent as an MCP server',
    load: () => import('./commands/mcp.ts'),
  },
  {
    name: 'cancel',
    summary: 'stop a run and everything it started',
    load: () => import('./commands/cancel.ts'),
  },
  { name: 'diff', summary: 'print the patch of a run', load: () => import('./commands/diff.ts') },
  {
    name: 'apply',
    summary: 'apply the patch of a run to your files',
    load: () => import('./commands/apply.ts'),
  },
  {
    name: 'branches',
    summary: 'list, push or drop branches that wait',
    load: () => import('./commands/branches.ts'),
  },
  {
    name: 'outputs',
    summary: 'list or copy the files that a run left to take away',
    load: () => import('./commands/outputs.ts'),
  },
  {
    name: 'retry',
    summary: 'repeat the task as a new run',
    load: () => import('./commands/retry.ts'),
  },
  {
    name: 'continue',
    summary: 'give the agent of an ended run its next task',
    load: () => import('./commands/continue.ts'),
  },
  { name: 'questions', summary: 'list questions of agents', load: () => import('./commands/questions.ts') },
  { name: 'answer', summary: 'answer a question and continue', load: () => import('./commands/answer.ts') },
  {
    name: 'approvals',
    summary: 'list tool calls that wait for a decision',
    load: () => import('./commands/approvals.ts'),
  },
  { name: 'approve', summary: 'allow a waiting tool call', load: () => import('./commands/approve.ts') },
  { name: 'deny', summary: 'deny a waiting tool call', load: () => import('./commands/deny.ts') },
  {
    name: 'board',
    summary: 'show and write the board of a session',
    load: () => import('./commands/board.ts'),
  },
  {
    name: 'context',
    summary: "show the findings of a session's agents",
    load: () => import('./commands/context.ts'),
  },
  { name: 'send', summary: 'send a message to a running agent', load: () => import('./commands/send.ts') },
  {
    name: 'export',
    summary: 'write the proof of a run into one file',
    load: () => import('./commands/export.ts'),
  },
  {
    name: 'seal',
    summary: 'sign a run that ended without a seal',
    load: () => import('./commands/seal.ts'),
  },
  { name: 'verify', summary: 'check a run or an exported file', load: () => import('./commands/verify.ts') },
  { name: 'keys', summary: 'show, export and trust signing keys', load: () => import('./commands/keys.ts') },
  {
    name: 'budget',
    summary: 'show what was spent and what is left',
    load: () => import('./commands/budget.ts'),
  },
  {
    name: 'forget',
    summary: "delete a run's contents for good",
    load: () => import('./commands/forget.ts'),
  },
  {
    name: 'du',
    summary: 'show what takes space in the state folder',
    load: () => import('./commands/du.ts'),
  },
  { name: 'gc', summary: 'remove what nothing refers to', load: () => import('./commands/gc.ts') },
  {
    name: 'up',
    summary: 'serve this project: a daemon that carries out its runs',
    load: () => import('./commands/up.ts'),
  },
  {
    name: 'down',
    summary: 'end the daemon, after its runs or at once',
    load: () => import('./commands/down.ts'),
  },
  {
    name: 'status',
    summary: 'show the daemon of this project',
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'ui',
    summary: 'open the dashboard of this project in a browser',
    load: () => import('./commands/ui.ts'),
  },
  {
    name: 'tokens create',
    summary: 'make a token for a program that asks over HTTP',
    load: async () => ({ command: (await import('./commands/tokens.ts')).createTokenCommand }),
  },
  {
    name: 'tokens list',
    summary: 'list tokens and signed-in pages',
    load: async () => ({ command: (await import('./commands/tokens.ts')).listTokensCommand }),
  },
  {
    name: 'tokens revoke',
    summary: 'end a token or a signed-in page',
    load: async () => ({ command: (await import('./commands/tokens.ts')).revokeTokenCommand }),
  },
  {
    name: 'reload',
    summary: 'let the daemon read its configuration again',
    load: () => import('./commands/reload.ts'),
  },
  ...RESIDENT_ROWS,
  {
    name: 'schedules',
    aliases: ['schedules list'], // as senses, workflows, threads and residents have it
    summary: 'show what starts by itself, and when',
    load: () => import('./commands/schedules.ts'),
  },
  {
    name: 'host',
    summary: 'serve one detached run (started by run --detach)',
    load: () => import('./commands/host.ts'),
  },
  {
    name: 'register',
    summary: 'register everything that a folder declares',
    load: () => import('./commands/register.ts'),
  },
  ...(Object.keys(KINDS) as RegistryKind[]).flatMap(registryRows),
  {
    name: 'policy check',
    summary: 'show what the policy decides about a command',
    load: () => import('./commands/policy-check.ts'),
  },
  {
    name: 'trust',
    summary: 'show what this project asks for, and agree to it',
    load: () => import('./commands/trust.ts'),
  },
  { name: 'init', summary: 'write a first caisson.yaml', load: () => import('./commands/init.ts') },
  {
    name: 'doctor',
    summary: 'examine this machine and report what is missing',
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'runtimes',
    summary: 'list the agent programs found here',
    load: () => import('./commands/runtimes.ts'),
  },
  {
    name: 'config',
    summary: 'show every setting, its value and its source',
    load: () => import('./commands/config.ts'),
  },
  {
    name: 'completion',
    summary: 'print a completion script for your shell',
    load: () => import('./commands/completion.ts'),
  },
  { name: 'version', summary: 'print the version', load: () => import('./commands/version.ts') },
  { name: 'help', summary: 'explain a command', load: () => import('./commands/help.ts') },
];
