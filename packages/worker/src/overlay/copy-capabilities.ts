/**
 * Copies capabilities over a workspace, in the given order.
 *
 * O1  Nothing is written outside the workspace: no parent of a written path is a link.
 * O2  A path is a file or a folder; a capability that disagrees with what is there is a conflict, and nothing of the
 *     attempt runs.
 * O3  A conflict names the place and both sides.
 */
import {
  copyFileSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fail, type StepFailure } from '../attempt/index.ts';
import { readCapability, type CapabilityContent, type CapabilityFile } from './capability-files.ts';
import { deepMerge, findProtoMember, hasPlace, unionArrays } from './merge-json.ts';
import { chooseStrategy, skillOf, type Strategy } from './overlay-rules.ts';

export interface SetupScript {
  readonly capability: string;
  readonly path: string;
}

interface MergedDocument {
  readonly by: string;
  readonly value: unknown;
}

/** Returns the setup scripts of the capabilities, in order. Paths of inputs cannot be replaced. */
export function copyCapabilities(
  workspace: string,
  capabilities: readonly { readonly name: string; readonly path: string }[],
  inputs: readonly string[] = [],
): SetupScript[] {
  const overlay = new Overlay(workspace, inputs);
  return capabilities.flatMap(({ name, path }) => {
    const content = readCapability(name, path);
    overlay.lay(name, content);
    return content.setup === null ? [] : [{ capability: name, path: content.setup }];
  });
}

class Overlay {
  readonly #root: string;
  readonly #inputs: readonly string[];
  /** Path → its last writer. */
  readonly #owners = new Map<string, string>();
  /** Path of a merged file → the content of each side, oldest first. */
  readonly #documents = new Map<string, MergedDocument[]>();

  constructor(root: string, inputs: readonly string[]) {
    this.#root = root;
    this.#inputs = inputs;
  }

  lay(name: string, content: CapabilityContent): void {
    const skills = new Set<string>();
    for (const file of content.files) {
      const skill = skillOf(file.path);
      if (skill !== null && !skills.has(skill)) {
        skills.add(skill);
        this.#makeWay(name, skill);
      }
      this.#layFile(name, file, chooseStrategy(file.path, content.rules));
      this.#owners.set(file.path, name);
    }
  }

  /** A skill of the same name is replaced as a whole: a mixture of two would be useless. */
  #makeWay(name: string, skill: string): void {
    this.#prepareParents(name, skill);
    const there = lstatSync(join(this.#root, skill), { throwIfNoEntry: false });
    if (there === undefined) return;
    if (!there.isDirectory()) throw this.#clash(name, skill, 'a folder', describeKind(there));
    rmSync(join(this.#root, skill), { recursive: true });
  }

  #layFile(name: string, file: CapabilityFile, strategy: Strategy): void {
    this.#prepareParents(name, file.path);
    if (this.#inputs.includes(file.path))
      throw fail(
        'integrity-failed',
        `overlay conflict at ${file.path}: an input of the run is there, capability "${name}" has a ${file.kind}`,
      );
    const target = join(this.#root, file.path);
    const there = lstatSync(target, { throwIfNoEntry: false });
    if (there !== undefined && there.isDirectory() !== (file.kind === 'folder'))
      throw this.#clash(
        name,
        file.path,
        file.kind === 'folder' ? 'a folder' : `a ${file.kind}`,
        describeKind(there),
      );
    if (file.kind === 'folder') return void mkdirSync(target, { recursive: true });
    if (file.kind === 'file' && strategy.kind !== 'last-write-wins')
      return this.#mergeFile(name, file, strategy, there?.isFile() ?? false);
    if (there !== undefined) rmSync(target);
    if (file.kind === 'link') return symlinkSync(readlinkSync(file.source), target);
    copyFileSync(file.source, target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    chmodSync(target, file.isExecutable ? 0o755 : 0o644);
  }

  #mergeFile(name: string, file: CapabilityFile, strategy: Strategy, isThere: boolean): void {
    const { path } = file;
    const target = join(this.#root, path);
    const brought = this.#documents.get(path) ?? [];
    if (isThere && brought.length === 0)
      brought.push({ by: this.#ownerOf(path), value: parse(this.#ownerOf(path), path, target) });
    const value = parse(`capability "${name}"`, path, file.source);
    const before = isThere ? parse('the overlay', path, target) : undefined;
    const merged =
      before === undefined ? value : this.#merge(name, path, { before, value, strategy, brought });
    this.#documents.set(path, [...brought, { by: `capability "${name}"`, value }]);
    rmSync(target, { force: true });
    writeFileSync(target, `${JSON.stringify(merged, null, 2)}\n`, { mode: 0o644, flag: 'wx' });
  }

  #merge(
    name: string,
    path: string,
    parts: { before: unknown; value: unknown; strategy: Strategy; brought: readonly MergedDocument[] },
  ): unknown {
    const { before, value, strategy } = parts;
    const merged =
      strategy.kind === 'deep-merge' ? deepMerge(before, value, strategy.arrays) : unionArrays(before, value);
    if (merged.kind === 'merged') return merged.value;
    const { conflict } = merged;
    const other = parts.brought.findLast((document) => hasPlace(document.value, conflict.at));
    throw fail(
      'integrity-failed',
      `overlay conflict in ${path} at ${conflict.at}: ${other?.by ?? 'the workspace'} has ${article(conflict.before)}, capability "${name}" has ${article(conflict.after)}`,
    );
  }

  /** O1, O2 */
  #prepareParents(name: string, path: string): void {
    const parts = path.split('/').slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const parent = parts.slice(0, depth).join('/');
      const there = lstatSync(join(this.#root, parent), { throwIfNoEntry: false });
      if (there === undefined) mkdirSync(join(this.#root, parent));
      else if (!there.isDirectory()) throw this.#clash(name, parent, 'a folder', describeKind(there));
    }
  }

  #clash(name: string, path: string, wanted: string, found: string): StepFailure {
    return fail(
      'integrity-failed',
      `overlay conflict at ${path}: ${this.#ownerOf(path)} has ${found} there, capability "${name}" has ${wanted}`,
    );
  }

  #ownerOf(path: string): string {
    const exact = this.#owners.get(path);
    const below = exact ?? [...this.#owners].find(([laid]) => laid.startsWith(`${path}/`))?.[1];
    return below === undefined ? 'the workspace' : `capability "${below}"`;
  }
}

function parse(who: string, path: string, file: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw fail(
      'integrity-failed',
      `${path} of ${who} cannot be merged, it is not JSON: ${(error as Error).message}`,
    );
  }
  const proto = findProtoMember(value);
  if (proto !== null) throw fail('integrity-failed', `${path} of ${who} has the member ${proto}`);
  return value;
}

function describeKind(stat: { isDirectory(): boolean; isSymbolicLink(): boolean }): string {
  if (stat.isDirectory()) return 'a folder';
  return stat.isSymbolicLink() ? 'a link' : 'a file';
}

function article(kind: string): string {
  return /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}
