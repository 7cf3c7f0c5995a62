import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';

/** Below this a thread costs more than it saves. */
const THREAD_BYTES = 4 * 1024 * 1024;

/** The program of the thread. Text, because it is smaller than the bundle that it would need. */
const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { closeSync, openSync, readSync } = require('node:fs');
  const hash = require('node:crypto').createHash('sha256');
  const fd = openSync(workerData, 'r');
  const chunk = Buffer.alloc(1024 * 1024);
  for (let read = readSync(fd, chunk); read > 0; read = readSync(fd, chunk)) hash.update(chunk.subarray(0, read));
  closeSync(fd);
  parentPort.postMessage(hash.digest('hex'));`;

/** The sha256 of a file of any size; a large one is read on a thread, so that the event loop stays free. */
export async function hashFile(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size >= THREAD_BYTES) return hashOnThread(path);
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function hashOnThread(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(PROGRAM, { eval: true, workerData: path, env: {}, execArgv: [] });
    worker.once('message', (digest: string) => resolve(digest));
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error(`the thread that read ${path} ended without an answer`)));
  });
}
