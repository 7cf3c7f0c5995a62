/** The common description of every kind of workspace. */
import { join, relative } from 'node:path';
import { definedOnly } from '@caisson/protocol';

import type { Baseline } from './baseline.ts';
import type { AgentGit, PreparedWorkspace, PrepareOptions } from './contract.ts';
import type { Brought } from './brought-caches.ts';
import { describeHiding } from './hiding.ts';
import type { Repository } from './locate-repository.ts';
import { findFilesOfGit, placeControls } from './own-places.ts';

export function describePrepared(
  options: PrepareOptions,
  attempt: { readonly attemptDir: string; readonly home: string },
  repository: Repository,
  baseline: Baseline,
  made: {
    path: string;
    agentGit: AgentGit | undefined;
    cleanRoom: PreparedWorkspace['cleanRoom'];
    brought: Brought;
    exclude: readonly string[];
    warnings: readonly string[];
  },
): PreparedWorkspace {
  const mountPath = (options.sandboxed ?? true) ? repository.top : made.path;
  return {
    ...describeAttempt(options, attempt),
    controls: [...placeControls(options, repository.top), ...findFilesOfGit(repository)],
    path: made.path,
    mountPath,
    cwd: join(mountPath, relative(repository.top, options.projectRoot)),
    gitDir: baseline.gitDir,
    custodyDir: repository.commonDir,
    isUserRepository: repository.fetched === undefined,
    baselineTree: baseline.tree,
    ...definedOnly({ startTree: baseline.startTree }),
    ...(baseline.changedSince === undefined ? {} : { changedSince: [...baseline.changedSince] }),
    baseCommit: baseline.baseCommit,
    baselineCommit: baseline.baselineCommit,
    exclude: [...baseline.exclude, ...made.exclude],
    ...definedOnly({ agentGit: made.agentGit, cleanRoom: made.cleanRoom }),
    ...(made.brought.length === 0 ? {} : { brought: made.brought }),
    warnings: [...baseline.warnings, ...made.warnings],
  };
}

export function describeAttempt(
  options: PrepareOptions,
  { attemptDir, home }: { readonly attemptDir: string; readonly home: string },
) {
  return {
    ...describeHiding(options, home),
    schemaVersion: 1 as const,
    kind: options.kind,
    runId: options.runId,
    attempt: options.attempt,
    projectRoot: options.projectRoot,
    attemptDir,
    ...definedOnly({ title: options.title, limits: options.limits }),
    ...definedOnly({ branch: options.branch, branchFrom: options.branchFrom }),
    ...(options.fetched === undefined
      ? {}
      : { remote: { url: options.fetched.url, ref: options.fetched.ref } }),
    controls: placeControls(options, options.projectRoot),
    ...(options.allowRisky === true ? { allowRisky: true } : {}),
  };
}
