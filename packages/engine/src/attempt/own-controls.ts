/**
 * Files that the project's settings make Caisson run: adapters and programs of runtimes, files of `exec:` references
 * and of the setup. An agent that could write one would escape at the next run, so they are risky files of this
 * project.
 */
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { listCommandWords } from '@caisson/ground';
import type { OwnControl } from '@caisson/protocol';
import type { PreparedWorkspace } from '../workspace/index.ts';
import type { DispatchSettings } from '../admission/index.ts';

type Known = Pick<DispatchSettings, 'hostFiles' | 'hostCommands' | 'setup' | 'projectRoot'>;

/** Relative to the project. What runs outside the sandbox is never changed; the setup runs inside, for the next run. */
export function findOwnControls(settings: Known): OwnControl[] {
  const outside = [
    ...settings.hostFiles,
    ...settings.hostCommands.flatMap((command) => wordsOf(settings, command)),
  ];
  const inside = settings.setup === null ? [] : wordsOf(settings, settings.setup);
  return [...placeAll(settings, outside, 'never'), ...placeAll(settings, inside, 'ask')];
}

/** The same for the gate, so that an agent gets a reason before the sandbox stops it. */
export function rulesAboutControls(
  { projectRoot }: Known,
  workspace: Pick<PreparedWorkspace, 'cwd' | 'mountPath' | 'controls'>,
): Record<string, unknown>[] {
  return (workspace.controls ?? [])
    .filter(({ grade }) => grade === 'never')
    .map(({ path }) => relative(workspace.cwd, resolve(workspace.mountPath, path)))
    .filter((path) => !path.startsWith('..') && !/[*?[\]{}()!+@\\]/.test(path))
    .map((path) => ({
      path: `./${path}`,
      action: 'read-only',
      reason: `it is run by the settings of ${projectRoot}`,
    }));
}

/** Words of a command line that may be files of the project: with a slash or a dot in them, or existing ones. */
function wordsOf({ projectRoot }: Known, command: string): string[] {
  return listCommandWords(command.replaceAll(/>+\s*\S+/g, ' ')) // written, not run
    .filter((word) => word !== '' && !/^[-+\d.]*$/.test(word) && !word.startsWith('-'))
    .filter((word) => /[/.]/.test(word) || existsSync(resolve(projectRoot, word)))
    .filter((word) => !word.includes('://') && !word.includes('*'));
}

function placeAll(
  { projectRoot }: Known,
  paths: readonly string[],
  grade: OwnControl['grade'],
): OwnControl[] {
  const inside = paths
    .map((path) => relative(projectRoot, resolve(projectRoot, path)))
    .filter((path) => path !== '' && path !== '..' && !path.startsWith('../'));
  return [...new Set(inside)].map((path) => ({ path, grade }));
}
