/** The options of `run`; `run-request.ts` turns them into a request. */
import { BUILT_IN_RUNTIMES } from '@caisson/protocol';
import type { OptionSpecs, OptionValues } from '../command.ts';

export const RUN_OPTIONS = {
  agent: {
    type: 'string',
    value: 'NAME',
    names: 'agents',
    summary: 'registered agent that carries out the task',
  },
  runtime: {
    type: 'string',
    value: 'NAME',
    names: 'runtimes',
    summary: `agent program: ${BUILT_IN_RUNTIMES.join(', ')}`,
  },
  model: {
    type: 'string',
    value: 'MODEL',
    names: 'models',
    summary: 'model to ask for; default: that of the agent or of caisson.yaml',
  },
  login: {
    type: 'boolean',
    summary:
      'use your own log-in with the agent program, for this run and later ones; the agent can read its token',
  },
  mode: {
    type: 'string',
    value: 'MODE',
    choices: ['suggest', 'auto-edit', 'full-auto'],
    summary: 'autonomy; default auto-edit',
  },
  sandbox: {
    type: 'string',
    value: 'KIND',
    choices: ['bwrap', 'none'],
    summary:
      'none switches the sandbox off, and with it every limit on the network; it is recorded; default bwrap',
  },
  workspace: {
    type: 'string',
    value: 'KIND',
    choices: ['worktree', 'in-place', 'empty'],
    summary: 'where the agent works; default worktree in git',
  },
  bring: {
    type: 'string',
    multiple: true,
    value: 'PATH',
    summary:
      'ignored folder or file the run needs, for example .env; node_modules, .venv and the like are found without it',
  },
  repo: {
    type: 'string',
    value: 'URL',
    summary: 'work on this remote repository instead of the project: https, ssh, or the path of a repository',
  },
  base: {
    type: 'string',
    value: 'REF',
    summary: 'start from this commit instead of the present files; of --repo a branch, tag or commit',
  },
  timeout: {
    type: 'string',
    value: 'DURATION',
    summary: 'deadline of one attempt, for example 10m; default 30m',
  },
  'stall-timeout': {
    type: 'string',
    value: 'DURATION',
    summary: 'stop an attempt that shows no progress for this long; default never',
  },
  budget: { type: 'string', value: 'USD', summary: 'money the run may spend; default no cap' },
  'max-tokens': { type: 'string', value: 'N', summary: 'tokens the run may use' },
  'max-turns': {
    type: 'string',
    value: 'N',
    summary: 'model turns the run may take; the first answer beyond them ends it, and is counted',
  },
  'max-tool-calls': { type: 'string', value: 'N', summary: 'tool calls the run may make' },
  memory: {
    type: 'string',
    value: 'SIZE',
    summary: 'memory limit with its unit, for example 2g; default 4g',
  },
  cpus: { type: 'string', value: 'N', summary: 'processor limit, for example 1.5; default none' },
  pids: { type: 'string', value: 'N', summary: 'limit on processes and threads; default 512' },
  network: {
    type: 'string',
    value: 'RULE',
    summary: 'none, hosts=a:443,b:443 or full; default: what caisson.yaml grants',
  },
  verify: {
    type: 'string',
    value: 'CMD',
    summary:
      'command that checks the work; the run is done all the same, and the exit code is 1 if it did not pass',
  },
  'verify-report-only': {
    type: 'boolean',
    summary: 'exit with 0 although the check of --verify did not pass',
  },
  'verify-lens': {
    type: 'string',
    value: 'LENS',
    choices: ['gate', 'verify', 'clean-room'],
    summary:
      'clean-room checks the patch alone in a fresh checkout; verify checks the workspace as the agent left it; gate does that and fails the run; default clean-room, in place verify',
  },
  capability: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    summary: 'bundle copied over the workspace',
  },
  env: {
    type: 'string',
    multiple: true,
    value: 'KEY[=V]',
    summary:
      'variable for the agent; without =V it is passed on. Values are not stored: retry passes names on again, and needs a V again',
  },
  'env-bundle': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    summary: 'registered env bundle',
  },
  secret: {
    type: 'string',
    multiple: true,
    value: 'NAME=REF',
    summary: 'secret variable by reference: env:, file:, exec:',
  },
  pipeline: { type: 'string', value: 'ID', summary: 'declared pipeline instead of the default one' },
  input: {
    type: 'string',
    multiple: true,
    value: 'KEY=PATH',
    summary: 'file that appears at inputs/KEY, as it is when the run is accepted',
  },
  scope: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    summary:
      'files the task is about; the prompt of the agent names them, changes to others are reported, and neither --apply nor --branch takes work that has such',
  },
  'outside-scope': {
    type: 'string',
    value: 'HOW',
    choices: ['report', 'refuse-push', 'read-only'],
    summary:
      'when files outside --scope were changed: report makes and pushes the branch all the same, read-only prevents it by mounts; default refuse-push',
  },
  accept: { type: 'string', value: 'TEXT', summary: 'when the task is done, in words' },
  branch: { type: 'string', value: 'NAME', summary: 'leave the work on this new branch when the run ends' },
  push: {
    type: 'boolean',
    summary: 'push that branch to --repo when the run has ended; the exit code is 1 if that failed',
  },
  'git-token': {
    type: 'string',
    value: 'REF',
    summary: 'where the token for --repo is: env:NAME, file:PATH, exec:COMMAND, aws-sm:NAME',
  },
  priority: {
    type: 'string',
    value: '1-10',
    summary: '1 is first, 10 last; every 30 s of waiting raise it by one; default 5',
  },
  retries: { type: 'string', value: 'N', summary: 'further attempts for endings that may pass; default 2' },
  tool: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    summary:
      'coordination tool to offer: board_read, board_write, report_context, read_context, ask, dispatch, hand_off, or *',
  },
  session: { type: 'string', value: 'NAME', summary: 'share board, context and budget with other runs' },
  'idempotency-key': { type: 'string', value: 'KEY', summary: 'the same key never starts a second run' },
  overflow: {
    type: 'string',
    value: 'HOW',
    choices: ['queue', 'reject'],
    summary: 'when all slots are taken; default queue',
  },
  apply: {
    type: 'boolean',
    summary: 'apply the patch to your files when the run finished and verify passed',
  },
  'allow-risky': {
    type: 'boolean',
    summary: 'allow CI workflows, install scripts and the like for --branch, --apply and in place',
  },
  callback: {
    type: 'string',
    multiple: true,
    value: 'URL',
    summary: 'send the ending to this address',
  },
  quiet: { type: 'boolean', short: 'q', summary: 'print the ending only' },
  verbose: {
    type: 'boolean',
    summary: 'print all that the agent says, and every event that is recorded, as it happens',
  },
  interactive: {
    type: 'boolean',
    summary: 'ask on the terminal what to do next after each ending, and continue; an empty line ends',
  },
  detach: { type: 'boolean', summary: 'run in the background and print the run id' },
} as const satisfies OptionSpecs;

export type RunValues = OptionValues<typeof RUN_OPTIONS>;
