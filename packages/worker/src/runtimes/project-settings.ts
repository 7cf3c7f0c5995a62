/**
 * Where each program looks for settings in a repository. They belong to the repository and so may be hostile: hooks
 * switched off or added, servers, helpers, providers, permissions. The program sees an empty, read-only folder instead,
 * whether the repository has one or the agent would make one. Prompts stay visible.
 */
import { relative } from 'node:path';
import { NO_ENVIRONMENT, RUNTIME_DESCRIPTORS, type RepositorySettings } from '@caisson/protocol';
import type { DriverInput, ProjectMask } from './contract.ts';

/** A program that runs behind ACP only, and is no runtime. */
const QWEN = {
  folder: '.qwen',
  keep: ['QWEN.md', 'skills', 'commands'],
  instead: NO_ENVIRONMENT,
  obeyed: [],
} satisfies RepositorySettings;

/** Of every program that is known. */
const ALL_SETTINGS: readonly RepositorySettings[] = [
  ...Object.values(RUNTIME_DESCRIPTORS).flatMap(({ repository }) => repository ?? []),
  QWEN,
];

/**
 * The masks for one program's settings, in the folder where the agent works and in every one above it. Where it is
 * unknown what the program reads, all known settings are masked.
 */
export function maskSettings(
  input: Pick<DriverInput, 'workspace' | 'workspaceTop' | 'capabilitySkills'>,
  runtime: string | undefined,
): ProjectMask[] {
  const places = foldersUpTo(input.workspaceTop, input.workspace);
  const own = runtime === undefined ? undefined : RUNTIME_DESCRIPTORS[runtime]?.repository;
  const settings = own === undefined ? ALL_SETTINGS : [own];
  return settings.flatMap(({ folder, keep: prompts, instead, files = [] }) => {
    const laid = (input.capabilitySkills ?? []).filter((path) => path.startsWith(`${folder}/skills/`));
    const keep = prompts.includes('skills')
      ? prompts
      : [...prompts, ...laid.map((path) => path.slice(folder.length + 1))];
    return places.flatMap((place): ProjectMask[] => [
      { kind: 'folder', path: `${place}/${folder}`, keep, files: instead ?? {} },
      ...files.map((file): ProjectMask => ({ kind: 'file', path: `${place}/${file}`, content: '{}\n' })),
    ]);
  });
}

function foldersUpTo(top: string, folder: string): string[] {
  const names = relative(top, folder).split('/').filter(Boolean);
  return names.includes('..')
    ? [folder]
    : [top, ...names.map((_, index) => [top, ...names.slice(0, index + 1)].join('/'))];
}
