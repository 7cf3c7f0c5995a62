/**
 * The program inside the sandbox that runs the user's code: its main thread is ours and never runs a line of it; each sense,
 * and each turn of a workflow, has a thread of its own.
 */
import { isMainThread } from 'node:worker_threads';
import { serveGuest } from './serve-guest.ts';
import { runThread } from './run-thread.ts';

if (isMainThread) serveGuest();
else await runThread();
