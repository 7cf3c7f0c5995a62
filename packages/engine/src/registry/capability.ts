/** Looks through a capability's folder before it becomes a bundle: no credentials, no hostile JSON. */
import { hash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { readFileCapped } from '@caisson/ground';

import type { BundleManifest, BundleRef, Store } from '../store/index.ts';
import { CredentialFoundError, DefinitionInvalidError } from './errors.ts';
import { scanForCredentials, type CredentialFinding } from './scan-credentials.ts';

export const MAX_CAPABILITY_BYTES = 50 * 1024 * 1024;
const MAX_CAPABILITY_FILES = 50_000;

/** Scans, then puts, then makes sure that what was put is what was scanned. */
export async function putCapability(store: Store, name: string, folder: string): Promise<BundleRef> {
  const scanned = await scanFolder(name, folder);
  const ref = await store.putBundle(folder, {
    maxBytes: MAX_CAPABILITY_BYTES,
    maxFiles: MAX_CAPABILITY_FILES,
  });
  refuseUnscanned(name, await store.readManifest(ref.hash), scanned);
  return ref;
}

async function scanFolder(name: string, folder: string): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  const findings: CredentialFinding[] = [];
  let budget = MAX_CAPABILITY_BYTES;
  for (const path of await listFiles(name, folder)) {
    // What is over the limit is not scanned; the store refuses the whole folder as too large.
    if (budget <= 0) break;
    const bytes = await readFileCapped(join(folder, path), MAX_CAPABILITY_BYTES + 1, {
      noFollow: true,
    }).catch(refuseUnreadable(name, path));
    budget -= bytes.length;
    digests.set(path, hash('sha256', bytes));
    findings.push(...scanForCredentials(bytes, path));
    if (path.endsWith('.json')) refuseProtoKey(name, path, bytes);
  }
  if (findings.length > 0) throw new CredentialFoundError(`capability ${name}`, findings);
  return digests;
}

async function listFiles(name: string, folder: string): Promise<string[]> {
  try {
    return await listBelow(folder, '');
  } catch (cause) {
    throw new DefinitionInvalidError(
      `capability ${name} was not registered: ${folder} ${describeListing(cause)}`,
      { cause, remedy: 'A capability is a folder; its files are copied over the workspace.' },
    );
  }
}

function describeListing(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'ENOTDIR') return 'is not a folder';
  if (code === 'ENOENT') return 'is not there';
  return `cannot be listed: ${message}`;
}

/** Not Node's own recursive listing, which follows links to folders: out of the bundle, or in circles. */
async function listBelow(folder: string, prefix: string): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(join(folder, prefix), { withFileTypes: true })) {
    const path = join(prefix, entry.name);
    if (entry.isDirectory()) files.push(...(await listBelow(folder, path)));
    else if (entry.isFile()) files.push(path);
  }
  return files;
}

function refuseUnreadable(name: string, path: string): (cause: unknown) => never {
  return (cause) => {
    // A name that is not UTF-8 cannot be opened by its text; the store names the rule it breaks.
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT' && path.includes('�')) {
      throw new DefinitionInvalidError(
        `capability ${name} was not registered: ${JSON.stringify(path)} is not a valid UTF-8 name`,
        { cause },
      );
    }
    throw cause;
  };
}

/** Merging such a file into a settings file would change every object. */
function refuseProtoKey(name: string, path: string, bytes: Buffer): void {
  const text = bytes.toString('utf8');
  if (!text.includes('__proto__') && !text.includes('\\u')) return;
  let hasProto = false;
  try {
    JSON.parse(text, (key, value: unknown) => {
      hasProto ||= key === '__proto__';
      return value;
    });
  } catch {
    return; // not JSON: it is never merged
  }
  if (!hasProto) return;
  throw new DefinitionInvalidError(
    `capability ${name} was not registered: ${path} has a "__proto__" member`,
    {
      remedy: `Remove the member from ${path}.`,
    },
  );
}

function refuseUnscanned(name: string, manifest: BundleManifest, scanned: ReadonlyMap<string, string>): void {
  const changed = manifest.entries.find(
    (entry) => entry.kind === 'file' && scanned.get(entry.path) !== entry.digest,
  );
  if (changed === undefined) return;
  throw new DefinitionInvalidError(
    `capability ${name} was not registered: ${changed.path} changed meanwhile`,
    {
      remedy: 'Stop the program that writes to the folder and register again.',
    },
  );
}
