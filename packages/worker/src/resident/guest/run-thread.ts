/**
 * Runs in a thread: loads the user's file and does what the main thread asks for. Everything that it needs later is taken
 * before the user's code can change it.
 */
import { registerHooks, stripTypeScriptTypes, type RegisterHooksOptions } from 'node:module';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { isRecord } from '@caisson/protocol';
import { describeLoadError } from './describe-load.ts';
import { printDirectly } from './print-directly.ts';
import { createSenseRunner } from './run-sense.ts';
import { createTurnRunner } from './run-turn.ts';
import { createPins } from './pin-files.ts';
import { refuseWritable } from './refuse-writable.ts';
import type { PinnedFiles, ThreadLine, ThreadOrder, ThreadStart } from './thread-messages.ts';

const { stringify, parse } = JSON;

/** What an order is given to, once the file is loaded. */
export type Runner = (order: ThreadOrder) => void;

export type Say = (line: ThreadLine) => void;

export async function runThread(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('this is no thread');
  const post = port.postMessage.bind(port);
  const say: Say = (line) => post(stringify(line));
  const { pinned, ...start } = workerData as ThreadStart & { pinned: PinnedFiles }; // of our own main thread
  printDirectly();
  for (const hooks of [
    createPins(pinned, say, stripTypeScriptTypes),
    refuseWritable(start.writable),
    resolveOurselves(),
  ])
    registerHooks(hooks);
  const loaded = await load(start, say);
  if ('problem' in loaded) return say({ kind: 'loaded', problem: loaded.problem });
  port.on('message', (text: string) => {
    const order = parse(text) as ThreadOrder;
    if (order.kind === 'ping') say({ kind: 'pong' });
    else loaded.run(order);
  });
  say({ kind: 'loaded' });
}

/** The project need not install `caisson`. */
function resolveOurselves(): RegisterHooksOptions {
  const ours = new URL('./authoring.mjs', import.meta.url).href;
  return {
    resolve: (name, context, next) =>
      name === 'caisson' ? { url: ours, format: 'module', shortCircuit: true } : next(name, context),
  };
}

async function load(start: ThreadStart, say: Say): Promise<{ run: Runner } | { problem: string }> {
  let exported: unknown;
  try {
    ({ default: exported } = (await import(pathToFileURL(start.file).href)) as { default?: unknown });
  } catch (error) {
    return { problem: describeLoadError(error) };
  }
  if (start.serves === 'senses')
    return isSense(exported)
      ? { run: createSenseRunner(exported, start, say) }
      : { problem: 'its default export is no sense: export default defineSense({ compute })' };
  return isWorkflow(exported)
    ? { run: createTurnRunner(exported, start, say) }
    : { problem: 'its default export is no workflow: export default defineWorkflow({ roles, route })' };
}

type Callable = (...args: never[]) => unknown;

function isSense(value: unknown): value is { compute: Callable } {
  return isRecord(value) && typeof value['compute'] === 'function';
}

function isWorkflow(value: unknown): value is { roles: Record<string, Callable>; route: Callable } {
  if (!isRecord(value) || typeof value['route'] !== 'function' || !isRecord(value['roles'])) return false;
  const roles = Object.values(value['roles']);
  return roles.length > 0 && roles.every((role) => typeof role === 'function');
}
