/** Residents in `caisson.yaml`: senses, workflows and schedules. */
import * as z from 'zod/mini';
import {
  ConfigName,
  count,
  described,
  Duration,
  durationOrZero,
  list,
  Memory,
  money,
  optional,
  Size,
  text,
  tokens,
} from './config-values.ts';
import { RunStatus } from './dispatch-result.ts';
import { HostRule, Mode } from './grant.ts';
import { RUN_CONFIG } from './run-config.ts';

/** The name of a signal. */
export const SignalName = ConfigName;

/** What starts a compute beside its interval. */
const SenseCause = z.union([
  z.strictObject({ signal: SignalName }),
  z.strictObject({ files: text() }),
  z.strictObject({ runs: z.union([RunStatus, list(RunStatus, 16)]) }),
]);

/** What the user's code sees and may use, inside its sandbox. */
const residentGrant = {
  read: optional('ask', list(text()), 'Folders that it may read beside the project. Default: none.'),
  write: optional('ask', list(text()), 'Folders that it may write to. Default: only its own state folder.'),
  hosts: optional('ask', list(HostRule), 'Network addresses (host:port) that it may reach. Default: none.'),
  memory: optional('may-lower', Memory, 'Memory of its sandbox. Default 512m.'),
  cpus: optional(
    'may-lower',
    z.number().check(z.gt(0), z.lte(4096)),
    'Processor cores of its sandbox. Default: no limit.',
  ),
  pids: optional('may-lower', count(1, 4_194_304), 'Processes and threads of its sandbox. Default 128.'),
  disk: optional(
    'may-lower',
    Size,
    'Bytes that its state folder may grow to, and each folder of write by, while it lives. Default 256m.',
  ),
  crashLimit: optional(
    'harmless',
    count(1, 1000),
    'So many ends of its process that nobody asked for, within crashWindow, block it. Default 5.',
  ),
  crashWindow: optional('harmless', Duration, 'See crashLimit. Default 60s.'),
};

export const SenseConfig = z.strictObject({
  file: described('ask', text(), 'The file with its code (.ts, .mts, .js, .mjs), relative to this file.'),
  group: optional(
    'ask',
    ConfigName,
    'Senses of one group share a process and a database. Default: its own name.',
  ),
  interval: optional('ask', Duration, 'How often it computes. Default: only when it is triggered.'),
  on: optional('ask', list(SenseCause, 64), 'What else starts a compute: {signal}, {files} or {runs}.'),
  allowLoop: optional(
    'ask',
    z.boolean(),
    'Whether its signals may lead to themselves, up to 16 causes and 60 signals a minute. Default false: such a signal is dropped.',
  ),
  throttle: optional(
    'harmless',
    Duration,
    'Shortest time between two computes; triggers in it become one. That of a person ends the wait. Default: none.',
  ),
  timeout: optional('may-lower', Duration, 'Longest time of one compute. Default 30s.'),
  gracePeriod: optional(
    'may-lower',
    Duration,
    'Time to stop after the timeout, before it is ended. Default 5s.',
  ),
  ...residentGrant,
});
export type SenseConfig = z.output<typeof SenseConfig>;

export const OVERFLOWS = ['drop', 'queue', 'reject', 'replace-oldest'] as const;

export const WorkflowConfig = z.strictObject({
  file: described('ask', text(), 'The file with its code (.ts, .mts, .js, .mjs), relative to this file.'),
  on: optional('ask', list(SignalName, 64), 'Signals that start a thread.'),
  concurrency: optional(
    'may-lower',
    count(1, 256),
    'Threads at the same time, sleeping ones included. Default 1.',
  ),
  overflow: optional(
    'harmless',
    z.enum(OVERFLOWS),
    'What becomes of a start when no thread is free: it is dropped, it waits, it is refused, or it takes the place of the one that waits longest. Default queue.',
  ),
  maxQueue: optional('may-lower', count(0, 100_000), 'Threads that may wait; more are dropped. Default 100.'),
  maxRounds: optional('may-lower', count(1, 10_000), 'Messages of one thread. Default 50.'),
  timeout: optional(
    'may-lower',
    Duration,
    'Longest time of one thread, without its sleep and the time in which it cannot work. Default 1h.',
  ),
  gracePeriod: optional('may-lower', Duration, 'Time to stop when it is ended. Default 5s.'),
  mode: optional(
    'may-lower',
    Mode,
    'Highest mode of the runs that it starts. Default: the mode of the project.',
  ),
  runHosts: optional('ask', list(HostRule), 'Network addresses that its runs may reach. Default: none.'),
  runBudgetUsd: optional('may-lower', money(), 'Money that one of its runs may spend.'),
  runTokens: optional('may-lower', tokens(), 'Tokens that one of its runs may use.'),
  ...residentGrant,
});
export type WorkflowConfig = z.output<typeof WorkflowConfig>;

export const ScheduleConfig = z.strictObject({
  cron: described('ask', text(256), 'When, as five or six cron fields, for example "0 3 * * *".'),
  timezone: optional(
    'harmless',
    text(64),
    'Time zone of these times, for example Europe/Berlin. Default: that of the machine.',
  ),
  jitter: optional(
    'harmless',
    durationOrZero(),
    'Starts up to this much later, at random; at most the time between two of its times. Default 0s.',
  ),
  catchUp: optional(
    'harmless',
    z.enum(['latest', 'skip']),
    'After a time without a daemon: one run for the newest missed time, or none. Default skip.',
  ),
  task: optional('ask', text(65_536), 'What should be done, in words.'),
  command: optional('ask', list(text(), 1024), 'A command line instead of an agent.'),
  workflow: optional('ask', ConfigName, 'Starts a thread of this workflow instead of a run.'),
  ...RUN_CONFIG,
});
export type ScheduleConfig = z.output<typeof ScheduleConfig>;
