/**
 * Where each program looks for settings in a repository. They are the repository's and so may be hostile: hooks switched
 * off or brought along, servers, helpers, providers, permissions. The program is shown an empty folder instead, which
 * cannot be written either, whether the repository has one or the agent would make one. What is a prompt stays visible.
 */
import { relative } from 'node:path';
import type { DriverInput, ProjectMask } from './contract.ts';

type Folder = Omit<ProjectMask, 'path'> & { readonly name: string };

/** A program that finds this one looks for no `.env` further up. */
const NO_ENVIRONMENT = { '.env': '' };

const FOLDERS = {
  'claude-code': {
    name: '.claude',
    keep: ['CLAUDE.md', 'rules', 'skills', 'commands', 'output-styles'],
    files: {},
  },
  codex: { name: '.codex', keep: ['skills', 'prompts'], files: {} },
  gemini: { name: '.gemini', keep: ['GEMINI.md', 'skills', 'commands'], files: NO_ENVIRONMENT },
  opencode: { name: '.opencode', keep: ['skills', 'skill', 'command', 'commands'], files: {} },
  pi: { name: '.pi', keep: ['skills', 'prompts'], files: {} },
  qwen: { name: '.qwen', keep: ['QWEN.md', 'skills', 'commands'], files: NO_ENVIRONMENT },
} as const satisfies Record<string, Folder>;

export type MaskedProgram = keyof typeof FOLDERS;

/** The masks for these programs, in the folder where the agent works and in every one above it up to the top. */
export function maskSettings(
  input: Pick<DriverInput, 'workspace' | 'workspaceTop'>,
  programs: readonly MaskedProgram[] = Object.keys(FOLDERS) as MaskedProgram[],
): ProjectMask[] {
  const places = foldersUpTo(input.workspaceTop, input.workspace);
  return programs.flatMap((program) => {
    const { name, keep, files } = FOLDERS[program];
    return places.map((place) => ({ path: `${place}/${name}`, keep, files }));
  });
}

function foldersUpTo(top: string, folder: string): string[] {
  const names = relative(top, folder).split('/').filter(Boolean);
  return names.includes('..')
    ? [folder]
    : [top, ...names.map((_, index) => [top, ...names.slice(0, index + 1)].join('/'))];
}
