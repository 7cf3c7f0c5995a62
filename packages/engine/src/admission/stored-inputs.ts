/**
 * The files of `--input`. They are put into the store when the run is accepted and taken from there for each attempt: a
 * file that is edited or moved later changes nothing, and `retry` uses the bytes of the first time.
 */
import { accessSync, constants, createWriteStream, mkdirSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { explainError } from '@caisson/ground';
import type { Job } from '@caisson/protocol';
import type { Store } from '../store/index.ts';
import type { AskedInput, DispatchRequest, Refusal, StoredInput } from './contract.ts';
import { TaskRefusedError } from './errors.ts';

const ANY_EXECUTE_BIT = 0o111;

/** Every input that a request names, once for each key: a file that is named again replaces the stored one. */
export function listInputs({ inputs, storedInputs }: DispatchRequest, cwd: string): readonly AskedInput[] {
  const files = Object.entries(inputs ?? {});
  const stored = Object.entries(storedInputs ?? {}).filter(([key]) => !Object.hasOwn(inputs ?? {}, key));
  return [
    ...stored.map(([key, file]) => ({ key, ...file })),
    ...files.map(([key, path]) => ({ key, path: isAbsolute(path) ? path : resolve(cwd, path) })),
  ];
}

export function storeInputs(
  store: Pick<Store, 'putBlob'>,
  asked: readonly AskedInput[],
): Promise<readonly StoredInput[]> {
  return Promise.all(asked.map(async (input) => ('path' in input ? storeFile(store, input) : input)));
}

type FileInput = Extract<AskedInput, { readonly path: string }>;

export function findUnreadableInput({ key, path }: FileInput): Omit<Refusal, 'check'> | null {
  try {
    if (!(statSync(path, { throwIfNoEntry: false })?.isFile() ?? false))
      return { kind: 'usage', detail: `input ${key} is not a file: ${path}` };
    accessSync(path, constants.R_OK);
    return null;
  } catch (error) {
    return { kind: 'usage', detail: `input ${key} cannot be read: ${explainError(error)}` };
  }
}

/** The file may have gone since it was checked: that refuses the task, too. */
async function storeFile(store: Pick<Store, 'putBlob'>, input: FileInput): Promise<StoredInput> {
  const { key, path } = input;
  try {
    const isExecutable = (statSync(path).mode & ANY_EXECUTE_BIT) !== 0;
    return { key, sha256: (await store.putBlob(path)).digest, isExecutable };
  } catch (error) {
    const refusal = findUnreadableInput(input);
    throw refusal === null ? error : new TaskRefusedError({ check: 'inputs-present', ...refusal });
  }
}

/** The inputs of a run as the request has them that `retry` and `answer` repeat. */
export function toStoredInputs(inputs: readonly StoredInput[]): Pick<DispatchRequest, 'storedInputs'> {
  if (inputs.length === 0) return {};
  return { storedInputs: Object.fromEntries(inputs.map(({ key, ...file }) => [key, file])) };
}

/** Writes the inputs where the worker finds them. */
export async function materialiseInputs(
  store: Pick<Store, 'openBlob'>,
  inputs: readonly StoredInput[],
  folder: string,
): Promise<Job['inputs']> {
  if (inputs.length > 0) mkdirSync(folder, { recursive: true, mode: 0o700 });
  return Promise.all(
    inputs.map(async ({ key, sha256, isExecutable }) => {
      const path = join(folder, key);
      const mode = isExecutable ? 0o755 : 0o644;
      await pipeline(await store.openBlob(sha256), createWriteStream(path, { mode, flags: 'wx' }));
      return { key, path, sha256 };
    }),
  );
}
