/** The thread in which a daemon examines its project: to check every hash of a large ledger takes minutes. */
import { parentPort, workerData } from 'node:worker_threads';
import { examineAll } from './examine-all.ts';

const { stateDir, cwd } = workerData as { readonly stateDir: string; readonly cwd: string };
parentPort?.postMessage(await examineAll(stateDir, cwd));
