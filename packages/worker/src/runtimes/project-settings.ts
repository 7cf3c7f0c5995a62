/**
 * Where each program looks for settings in a repository. They are the repository's and so may be hostile: hooks switched
 * off or brought along, servers, helpers, providers, permissions. The program is shown an empty folder instead, which
 * cannot be written either, whether the repository has one or the agent would make one. What is a prompt stays visible.
 */
import { relative } from 'node:path';
import type { DriverInput, ProjectMask } from './contract.ts';

interface Settings {
  readonly folder: string;
  /** What of the folder is a prompt, by name. */
  readonly keep: readonly string[];
  /** What the folder has instead of the repository's, by name. */
  readonly instead?: Readonly<Record<string, string>>;
  /** Settings outside the folder, all of them JSON. */
  readonly files?: readonly string[];
}

/** A program that finds this one looks for no `.env` further up. */
const NO_ENVIRONMENT = { '.env': '' };

const SETTINGS = {
  // Its skills, commands and agents are more than prompts: they bring hooks, shell commands that run when they are read,
  // and leave to use tools, all of it before the gate is asked.
  'claude-code': { folder: '.claude', keep: ['CLAUDE.md', 'rules'], files: ['.mcp.json'] },
  codex: { folder: '.codex', keep: ['skills', 'prompts'] },
  gemini: { folder: '.gemini', keep: ['GEMINI.md', 'skills', 'commands'], instead: NO_ENVIRONMENT },
  opencode: {
    folder: '.opencode',
    keep: ['skills', 'skill', 'commands', 'command'],
    // It says that it leaves them out, and yet loads the plugins that they name.
    files: ['opencode.json', 'opencode.jsonc'],
  },
  pi: { folder: '.pi', keep: ['skills', 'prompts'] },
  qwen: { folder: '.qwen', keep: ['QWEN.md', 'skills', 'commands'], instead: NO_ENVIRONMENT },
} as const satisfies Record<string, Settings>;

type MaskedProgram = keyof typeof SETTINGS;

const KNOWN_PROGRAMS = Object.keys(SETTINGS) as MaskedProgram[];

/** The masks for these programs, in the folder where the agent works and in every one above it up to the top. */
export function maskSettings(
  input: Pick<DriverInput, 'workspace' | 'workspaceTop' | 'laidSkills'>,
  programs: readonly MaskedProgram[] = KNOWN_PROGRAMS,
): ProjectMask[] {
  const places = foldersUpTo(input.workspaceTop, input.workspace);
  return programs.flatMap((program) => {
    const { folder, keep: prompts, instead, files = [] }: Settings = SETTINGS[program];
    const laid = (input.laidSkills ?? []).filter((path) => path.startsWith(`${folder}/skills/`));
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
