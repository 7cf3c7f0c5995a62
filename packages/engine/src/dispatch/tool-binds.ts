/**
 * What of the replaced folders (HOME, /tmp and the like) must stay readable for the run to work: programs in PATH,
 * declared toolchains, the agent's own program, and files named on the command line.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import type { Bind } from '@caisson/protocol';
import type { DispatchRequest, DispatchSettings, FoundRuntime } from './contract.ts';
import { loginBinds } from './login-files.ts';

export function toolBinds(
  settings: DispatchSettings,
  runtime: FoundRuntime,
  request: DispatchRequest,
): Bind[] {
  const replaced = ['/root', '/home', '/tmp', '/var/tmp', '/run', settings.home];
  const isReplaced = (path: string): boolean =>
    replaced.some((folder) => path === folder || path.startsWith(`${folder}/`));
  const isInProject = (path: string): boolean =>
    path === settings.projectRoot || path.startsWith(`${settings.projectRoot}/`);
  const isVisibleTool = (path: string): boolean =>
    isReplaced(path) &&
    !replaced.includes(path) &&
    !isInProject(path) &&
    !isParentOfProject(path, settings.projectRoot) &&
    existsSync(path);
  const wanted = [
    ...settings.path.split(':').filter(isAbsolute),
    ...settings.toolchains.map((folder) => expandHome(folder, settings.home)),
    ...programFolders(runtime.bin),
    ...programFolders(settings.node),
    settings.bundles,
    ...(request.argv ?? [])
      .map((word) => resolve(settings.cwd, word))
      .filter((path) => !path.startsWith(settings.stateDir)),
  ];
  const tools = [...new Set(wanted)]
    .filter(isVisibleTool)
    .map((path) => ({ source: path, target: path, writable: false }));
  return [...tools, ...loginBinds(settings.home, runtime)];
}

/** A program found through links lives with its package: the outermost node_modules, else its own folder. */
function programFolders(bin: string): string[] {
  if (!isAbsolute(bin) || !existsSync(bin)) return [];
  const real = realpathSync(bin);
  return [...new Set([packageFolder(bin), packageFolder(real)])];
}

function packageFolder(path: string): string {
  const parts = path.split(sep);
  const index = parts.indexOf('node_modules');
  return index === -1 ? dirname(path) : parts.slice(0, index + 1).join(sep);
}

/** Showing a parent of the project would show the real project beside the workspace. */
function isParentOfProject(path: string, projectRoot: string): boolean {
  return projectRoot.startsWith(path.endsWith('/') ? path : `${path}/`);
}

function expandHome(path: string, home: string): string {
  return path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path;
}
