import { availableParallelism } from 'node:os';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/**
 * Every single-valued setting and its default, in base units (milliseconds, bytes). Each can also be given as a flag
 * or as an environment variable (see {@link envNameOf}); lists and maps are written in the file only.
 */
export const SETTING_DEFAULTS = {
  runtime: null,
  mode: 'auto-edit',
  state: '.caisson',
  'workspace.detect': true,
  'workspace.setup': null,
  'workspace.setupTimeout': 2 * MINUTE_MS,
  'limits.concurrency': Math.max(2, availableParallelism()),
  'limits.queue': 1000,
  'limits.timeout': 30 * MINUTE_MS,
  'limits.grace': 5000,
  'limits.stallTimeout': null,
  'limits.memory': 4 * GIB,
  'limits.cpus': null,
  'limits.pids': 512,
  'limits.disk': 10 * GIB,
  'limits.captureFile': 100 * MIB,
  'limits.capture': 256 * MIB,
  'limits.spool': 64 * MIB,
  'limits.trash': GIB,
  'limits.trashAge': DAY_MS,
  'limits.retries': 2,
  'limits.failedAnswers': 50,
  'limits.unreachable': 45_000,
  'limits.adoptWithin': 2 * MINUTE_MS,
  'limits.depth': 2,
  'budget.perRunUsd': null,
  'budget.perSessionUsd': null,
  'budget.perDayUsd': null,
  'budget.perRunTokens': null,
  'budget.perRunTurns': null,
  'budget.perRunToolCalls': null,
  'budget.perSessionTokens': null,
  'budget.perSessionTurns': null,
  'budget.perSessionToolCalls': null,
  'budget.perDayTokens': null,
  'budget.perDayTurns': null,
  'budget.perDayToolCalls': null,
  'budget.allowUnknownCost': false,
  'policy.ceiling': 'full-auto',
  'questions.deadline': 7 * DAY_MS,
  'questions.approvalDeadline': 5 * MINUTE_MS,
  'git.url': null,
  'git.token': null,
  'git.knownHosts': null,
  'git.identity': null,
  'git.timeout': 5 * MINUTE_MS,
  'git.cacheAge': 30 * DAY_MS,
  'git.maxFetch': 4 * GIB,
  'sandbox.home': GIB,
  'sandbox.tmp': GIB,
  'keys.signer': null,
  'keys.identity': null,
  'evidence.witness': null,
} as const;

export type SettingKey = keyof typeof SETTING_DEFAULTS;
export type SettingValue = string | number | boolean | null;

export const SETTING_KEYS = Object.keys(SETTING_DEFAULTS) as SettingKey[];

/** `limits.stallTimeout` → `CAISSON_LIMITS_STALL_TIMEOUT`. */
export function envNameOf(key: SettingKey): string {
  const words = key.replaceAll(/([A-Z])/g, '_$1').replaceAll('.', '_');
  return `CAISSON_${words.toUpperCase()}`;
}
