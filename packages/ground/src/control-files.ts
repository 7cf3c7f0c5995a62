// Files through which an agent could make a later program obey it: its own settings, hooks, and ours. The sandbox keeps
// the ones that exist read-only; one that an agent makes could not be mounted over and is left out of the patch.
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isPlantedGitControl } from './git-controls.ts';

/** Relative to the folder in which a program looks for them. */
export const CONTROL_FILES: readonly string[] = [
  '.envrc',
  '.mcp.json',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.claude/hooks',
  '.codex',
  '.gemini/settings.json',
  '.opencode',
  '.pi',
  '.qwen/settings.json',
  '.cursor/mcp.json',
  '.vscode/mcp.json',
  'opencode.json',
  'opencode.jsonc',
  'caisson.yaml',
  '.vscode/tasks.json',
  '.vscode/settings.json',
  '.husky',
  '.gitmodules',
  '.cursor/hooks.json',
  '.gemini/extensions',
  '.gemini/.env',
  '.qwen/extensions',
  '.zed/settings.json',
  '.zed/tasks.json',
  '.roo/mcp.json',
  '.kiro/settings/mcp.json',
  '.aider.conf.yml',
  '.exrc',
  '.nvim.lua',
  '.dir-locals.el',
];

/**
 * Tells whether a path of a patch is a control file. A program finds its settings in whatever folder it is started in,
 * so it is one at any depth. A link named like its folder would bring one in under another name, and so would a file
 * that such a link already leads to. Other disks do not tell `.Envrc` from `.envrc`. `own` are control files of this
 * one project, at their one place.
 */
export function createControlTest(root: string, own: readonly string[] = []): (path: string) => boolean {
  const folders = CONTROL_FILES.filter((control) => control.includes('/')).map((control) =>
    control.replace(/\/[^/]*$/, ''),
  );
  const linked = [...own, ...[...CONTROL_FILES, ...own].flatMap((control) => realPlace(root, control))];
  return (path) => {
    const name = path.toLowerCase();
    return (
      CONTROL_FILES.some((control) => `/${name}/`.includes(`/${control}/`)) ||
      linked.some((place) => path === place || path.startsWith(`${place}/`)) ||
      (folders.some((folder) => name === folder || name.endsWith(`/${folder}`)) &&
        isLink(join(root, path))) ||
      isPlantedGitControl(root, path)
    );
  };
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Where a control file really lies in the workspace; only names are compared, nothing is read. */
function realPlace(root: string, control: string): string[] {
  const path = join(root, control);
  if (!existsSync(path)) return []; // nor where a link leads nowhere
  const place = relative(realpathSync.native(root), realpathSync.native(path));
  return place === '' || place.startsWith('..') ? [] : [place];
}
