import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Ledger } from '../contract.ts';
import type { LedgerOptions } from '../create-ledger.ts';
import { openWithThread } from './open-with-thread.ts';

const SOURCE = fileURLToPath(new URL('commit-thread.ts', import.meta.url));
/** Where SQLite is found from. */
const FOLDER = fileURLToPath(new URL('../../../../../node_modules/.cache/caisson/', import.meta.url));

let built: Promise<string> | null = null;

/** The thread's program as one file: a thread that loads the source takes a second to start. */
export function buildThread(): Promise<string> {
  built ??= (async () => {
    mkdirSync(FOLDER, { recursive: true });
    const outfile = join(FOLDER, `ledger-thread-${process.pid}.mjs`);
    const external = ['better-sqlite3'];
    await build({ entryPoints: [SOURCE], outfile, bundle: true, format: 'esm', platform: 'node', external });
    return outfile;
  })();
  return built;
}

/** A ledger whose thread commits from the first append on. */
export async function openThreadLedger(file: string, options: LedgerOptions = {}): Promise<Ledger> {
  const threadEntry = await buildThread();
  const { promise: isReady, resolve: onThreadReady } = Promise.withResolvers<void>();
  const { ledger, commits } = openWithThread(file, { ...options, threadEntry, onThreadReady });
  commits.start();
  await isReady;
  return ledger;
}
