/** Limits and budgets by their settings. */
import type { ResolvedBudget, ResolvedLimits } from './contract.ts';
import type { SettingKey } from './settings.ts';

export function assembleLimits(get: <T>(key: SettingKey) => T): ResolvedLimits {
  return {
    concurrency: get('limits.concurrency'),
    queue: get('limits.queue'),
    timeoutMs: get('limits.timeout'),
    graceMs: get('limits.grace'),
    stallTimeoutMs: get('limits.stallTimeout'),
    memoryBytes: get('limits.memory'),
    cpus: get('limits.cpus'),
    pids: get('limits.pids'),
    diskBytes: get('limits.disk'),
    captureFileBytes: get('limits.captureFile'),
    captureBytes: get('limits.capture'),
    spoolBytes: get('limits.spool'),
    trashBytes: get('limits.trash'),
    trashAgeMs: get('limits.trashAge'),
    retries: get('limits.retries'),
    failedAnswers: get('limits.failedAnswers'),
    unreachableMs: get('limits.unreachable'),
    adoptWithinMs: get('limits.adoptWithin'),
    depth: get('limits.depth'),
  };
}

export function assembleBudget(get: <T>(key: SettingKey) => T): ResolvedBudget {
  return {
    perRunUsd: get('budget.perRunUsd'),
    perSessionUsd: get('budget.perSessionUsd'),
    perDayUsd: get('budget.perDayUsd'),
    perRunTokens: get('budget.perRunTokens'),
    perRunTurns: get('budget.perRunTurns'),
    perRunToolCalls: get('budget.perRunToolCalls'),
    perSessionTokens: get('budget.perSessionTokens'),
    perSessionTurns: get('budget.perSessionTurns'),
    perSessionToolCalls: get('budget.perSessionToolCalls'),
    perDayTokens: get('budget.perDayTokens'),
    perDayTurns: get('budget.perDayTurns'),
    perDayToolCalls: get('budget.perDayToolCalls'),
    allowUnknownCost: get('budget.allowUnknownCost'),
  };
}
