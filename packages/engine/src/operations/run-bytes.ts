/** What a run left, as bytes with a name for their content: a reader that has them need not read them again. */
import { open, mkdtemp, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ifErrno } from '@caisson/ground';
import { CaissonError, type OutputFile } from '@caisson/protocol';
import type { NamedBytes, RunBytes } from '../api/index.ts';
import { attemptPaths } from '../attempt/index.ts';
import { readResult } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { findSeal } from '../evidence/index.ts';
import type { LogName } from './read-run-log.ts';
import { resolveRunId } from './resolve-run-id.ts';
import { requireRemembered } from './run-forgotten.ts';
import { findPatch } from './run-patch.ts';
import { exportHere } from './verify-here.ts';

/** The run left no such file. */
export class NoSuchOutputError extends CaissonError {
  readonly code = 'UNKNOWN_NAME';
}

const ROOT = 'outputs/';

export function createRunBytes(engine: Engine): RunBytes {
  const find = (run: string): string => {
    const runId = resolveRunId(engine.ledger, run);
    requireRemembered(engine, runId);
    return runId;
  };
  const outputs = async (runId: string): Promise<OutputFile[]> =>
    ((await readResult(engine.rooms, runId))?.outputs ?? []).map((output) => ({
      ...output,
      path: output.path.startsWith(ROOT) ? output.path.slice(ROOT.length) : output.path,
    }));
  return {
    outputs: async (run) => outputs(find(run)),
    async output(run, path) {
      const runId = find(run);
      const output = (await outputs(runId)).find((one) => one.path === path);
      if (output !== undefined) return ofBlob(engine, output.ref, output.size);
      throw new NoSuchOutputError(`${runId} left no output ${JSON.stringify(path)}`, {
        remedy: `GET /v1/runs/${runId}/outputs lists them.`,
      });
    },
    async patch(run) {
      const ref = await findPatch(engine, resolveRunId(engine.ledger, run));
      return ref === null ? ofBuffer('empty', Buffer.alloc(0)) : ofBlob(engine, ref);
    },
    log: async (run, name) => openLog(engine, find(run), name),
    exported: async (run) => openExport(engine, find(run)),
  };
}

/** The spool of the newest attempt only grows, so its length names its content. Without one, the sealed record. */
async function openLog(engine: Engine, runId: string, name: LogName): Promise<NamedBytes> {
  const attempt = engine.ledger.run(runId)?.attempt ?? 0;
  const path = join(attemptPaths(engine.config.stateDir, runId, attempt).spool, name);
  const spool = await open(path).catch(ifErrno(null, 'ENOENT'));
  if (spool !== null) {
    const { size } = await spool.stat();
    return ofFile(spool, `${attempt}-${size}`, size);
  }
  const result = await readResult(engine.rooms, runId);
  if (result === null) return ofBuffer('empty', Buffer.alloc(0));
  return ofBlob(engine, result.logs[name].ref, result.logs[name].bytes);
}

/** The same run gives the same bytes, so its seal names them. */
async function openExport(engine: Engine, runId: string): Promise<NamedBytes> {
  const write = async (): Promise<FileHandle> => {
    const folder = await mkdtemp(join(tmpdir(), 'caisson-export-'));
    try {
      await exportHere(engine, runId, join(folder, 'export'));
      return await open(join(folder, 'export')); // readable also when its name is gone
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  const seal = findSeal(engine.ledger.read({ runId }));
  const tag = seal === null ? null : `export-${seal.envelopeRef}`;
  return {
    tag,
    async open() {
      const file = await write();
      return ofFile(file, tag, (await file.stat()).size).open();
    },
    close: () => Promise.resolve(),
  };
}

/** The store checks what it reads; a patch is read whole, because its length is recorded nowhere. */
function ofBlob({ store }: Engine, digest: string, size?: number): NamedBytes {
  if (size !== undefined)
    return { tag: digest, open: async () => ({ size, parts: await store.openBlob(digest) }), close: NOTHING };
  return {
    tag: digest,
    open: async () => ofBuffer(digest, await store.getBlob(digest)).open(),
    close: NOTHING,
  };
}

const NOTHING = (): Promise<void> => Promise.resolve();

function ofBuffer(tag: string, bytes: Buffer): NamedBytes {
  return { tag, open: () => Promise.resolve({ size: bytes.length, parts: [bytes] }), close: NOTHING };
}

function ofFile(file: FileHandle, tag: string | null, size: number): NamedBytes {
  return {
    tag,
    async open() {
      if (size > 0) return { size, parts: file.createReadStream({ start: 0, end: size - 1 }) };
      await file.close();
      return { size, parts: [] };
    },
    close: () => file.close(),
  };
}
