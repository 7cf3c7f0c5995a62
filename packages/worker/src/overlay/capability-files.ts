/**
 * The content of a capability's folder. The store refused bad names when it was registered; here they are refused
 * again.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { fail } from '../attempt/index.ts';
import { OverlayRules } from './overlay-rules.ts';

export interface CapabilityFile {
  /** Relative, with slashes. */
  readonly path: string;
  readonly source: string;
  readonly kind: 'file' | 'link' | 'folder';
  readonly isExecutable: boolean;
}

export interface CapabilityContent {
  readonly files: readonly CapabilityFile[];
  readonly rules: OverlayRules | null;
  /** Path of its setup script, or null. */
  readonly setup: string | null;
}

/** The capability's own settings for us; not copied over the workspace. */
const OWN_FOLDER = '.caisson';

export function readCapability(name: string, folder: string): CapabilityContent {
  const files = listFiles(name, folder, '').filter(
    ({ path }) => path !== OWN_FOLDER && !path.startsWith(`${OWN_FOLDER}/`),
  );
  const setup = join(folder, OWN_FOLDER, 'setup.sh');
  const hasSetup = lstatSync(setup, { throwIfNoEntry: false })?.isFile() ?? false;
  return { files, rules: readRules(name, folder), setup: hasSetup ? setup : null };
}

function readRules(name: string, folder: string): OverlayRules | null {
  const path = join(folder, OWN_FOLDER, 'overlay.json');
  if (!(lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false)) return null;
  try {
    return OverlayRules.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw fail(
      'integrity-failed',
      `capability "${name}": .caisson/overlay.json is malformed: ${(error as Error).message}`,
    );
  }
}

function listFiles(name: string, root: string, prefix: string): CapabilityFile[] {
  const entries = readdirSync(join(root, prefix), { withFileTypes: true });
  if (entries.length === 0 && prefix !== '')
    return [{ path: prefix, source: join(root, prefix), kind: 'folder', isExecutable: false }];
  return entries
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
    .flatMap((entry): CapabilityFile[] => {
      const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
      const source = join(root, path);
      refuseName(name, path, entry.name);
      if (entry.isDirectory()) return listFiles(name, root, path);
      if (entry.isSymbolicLink()) return [linkOf(name, path, source)];
      if (!entry.isFile()) throw refused(name, path, 'is neither file, folder nor link');
      return [{ path, source, kind: 'file', isExecutable: (lstatSync(source).mode & 0o111) !== 0 }];
    });
}

function refuseName(name: string, path: string, part: string): void {
  if (part.includes('\\')) throw refused(name, path, 'has a backslash in its name');
  if (part.includes('\uFFFD')) throw refused(name, path, 'is not a valid UTF-8 name');
  if (part.toLowerCase() === '.git') throw refused(name, path, 'would change the repository itself');
}

function linkOf(name: string, path: string, source: string): CapabilityFile {
  const target = readlinkSync(source);
  const landing = normalize(join(dirname(path), target));
  if (isAbsolute(target) || landing === '..' || landing.startsWith('../'))
    throw refused(name, path, `is a link that leaves the bundle (${target})`);
  return { path, source, kind: 'link', isExecutable: false };
}

function refused(name: string, path: string, why: string): Error {
  return fail('integrity-failed', `capability "${name}": ${path} ${why}`);
}
