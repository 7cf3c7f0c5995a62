/**
 * The project's own adapters: code that the worker loads outside the sandbox. An agent that could write one would be out
 * at the next run, so they are control files wherever they lie in the workspace.
 */
import { relative, resolve } from 'node:path';
import type { PreparedWorkspace } from '../workspace/index.ts';
import type { DispatchSettings } from './rooms.ts';

type Place = Pick<PreparedWorkspace, 'cwd' | 'mountPath'>;
type Known = Pick<DispatchSettings, 'adapters' | 'projectRoot'>;

/** Relative to the top of the workspace. */
export function findOwnControls(settings: Known, workspace: Place): string[] {
  return insidePaths(settings, workspace)
    .map((path) => relative(workspace.mountPath, path))
    .filter((path) => path !== '' && path !== '..' && !path.startsWith('../'));
}

/** The same for the gate, so that an agent is told before it runs against the sandbox. */
export function rulesAboutAdapters(settings: Known, workspace: Place): Record<string, unknown>[] {
  return insidePaths(settings, workspace)
    .map((path) => relative(workspace.cwd, path))
    .filter((path) => !path.startsWith('..') && !/[*?[\]{}()!+@\\]/.test(path))
    .map((path) => ({ path: `./${path}`, action: 'read-only', reason: 'it is an adapter of caisson.yaml' }));
}

function insidePaths({ adapters, projectRoot }: Known, { cwd }: Place): string[] {
  return adapters.map((adapter) => resolve(cwd, relative(projectRoot, adapter)));
}
