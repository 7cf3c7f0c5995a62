import type { CommandRow } from './command.ts';

/** Every command. To add one: a file in commands/ that exports `command`, and a row here. */
export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'run',
    summary: 'give a task to an agent in a sealed sandbox',
    load: () => import('./commands/run.ts'),
  },
  { name: 'runs', summary: 'list the runs of this project', load: () => import('./commands/runs.ts') },
  {
    name: 'show',
    summary: 'tell what a run was asked, did and left',
    load: () => import('./commands/show.ts'),
  },
  {
    name: 'logs',
    summary: "print a run's events or its agent's output",
    load: () => import('./commands/logs.ts'),
  },
  {
    name: 'cancel',
    summary: 'stop a run and everything it started',
    load: () => import('./commands/cancel.ts'),
  },
  { name: 'init', summary: 'write a first caisson.yaml', load: () => import('./commands/init.ts') },
  {
    name: 'doctor',
    summary: 'examine this machine and say what is missing',
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
