/**
 * Registers everything a folder declares, idempotently:
 *
 *   agents/<name>.yaml  envs/<name>.yaml  pipelines/<pack>.<name>.yaml  (also .yml, .json)
 *   capabilities/<name>/
 *
 * Capabilities, envs and pipelines come first, because agents name them. Everything is read before anything is
 * registered, so that a typing error in the last file does not register half of the folder.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';

import type { RegistryKind } from '@caisson/protocol';

import type { Registration, RegistrationSource, Registry } from './contract.ts';
import { normaliseDefinition } from './definitions.ts';
import { DefinitionInvalidError, RegistryAccessError } from './errors.ts';

const DEFINITION_KINDS = ['envs', 'pipelines', 'agents'] as const;
const SUFFIXES = new Set(['.yaml', '.yml', '.json']);
const MAX_DEFINITION_BYTES = 8 * 1024 * 1024;

interface Declared {
  readonly kind: RegistryKind;
  readonly name: string;
  readonly source: RegistrationSource;
}

/** Throws when a definition must not be registered. */
export type CheckDefinition = (kind: RegistryKind, name: string, definition: unknown) => void;

export async function registerFolder(
  registry: Registry,
  folder: string,
  check: CheckDefinition = () => undefined,
): Promise<readonly Registration[]> {
  const declared = [...(await findCapabilities(folder)), ...(await findDefinitions(folder, check))];
  if (declared.length === 0) {
    throw new DefinitionInvalidError(`${folder} declares nothing`, {
      remedy: 'Put files into agents/, envs/ or pipelines/, or folders into capabilities/.',
    });
  }
  const registered: Registration[] = [];
  for (const { kind, name, source } of declared) registered.push(await registry.register(kind, name, source));
  return registered;
}

async function findCapabilities(folder: string): Promise<Declared[]> {
  const names = await listSorted(join(folder, 'capabilities'));
  const found: Declared[] = [];
  for (const name of names) {
    const path = join(folder, 'capabilities', name);
    if ((await stat(path)).isDirectory())
      found.push({ kind: 'capabilities', name, source: { folder: path } });
  }
  return found;
}

async function findDefinitions(folder: string, check: CheckDefinition): Promise<Declared[]> {
  const found: Declared[] = [];
  for (const kind of DEFINITION_KINDS) {
    for (const file of await listSorted(join(folder, kind))) {
      const suffix = extname(file);
      if (!SUFFIXES.has(suffix)) continue;
      const name = file.slice(0, -suffix.length);
      const definition = await readDefinition(join(folder, kind, file));
      normaliseDefinition(kind, name, definition);
      check(kind, name, definition);
      found.push({ kind, name, source: { definition } });
    }
  }
  return found;
}

/** A definition as written in a YAML or JSON file; not yet validated. */
export async function readDefinition(file: string): Promise<unknown> {
  const { size } = await stat(file).catch((cause: unknown) => {
    throw new RegistryAccessError(`cannot read ${file}: ${(cause as Error).message}`, { cause });
  });
  if (size > MAX_DEFINITION_BYTES)
    throw new DefinitionInvalidError(`${file} is larger than ${MAX_DEFINITION_BYTES} bytes`);
  const text = await readFile(file, 'utf8');
  const { parseDocument } = await import('./yaml-parser.ts');
  // JSON is YAML too, and errors then have a line in both.
  const document = parseDocument(text, { uniqueKeys: true });
  const [error] = document.errors;
  if (error !== undefined)
    throw new DefinitionInvalidError(`${file} cannot be read: ${headOf(error.message)}`, { cause: error });
  return document.toJS({ maxAliasCount: 100 });
}

/** What is wrong and where; the lines below it quote the file. */
function headOf(message: string): string {
  return (message.split('\n', 1)[0] ?? '').replace(/:$/, '');
}

async function listSorted(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted();
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
    throw new RegistryAccessError(`cannot list ${folder}: ${String(cause)}`, { cause });
  }
}
