/** A project that is open in this process. */
import { readFile } from 'node:fs/promises';
import { BusTopic } from '@caisson/protocol';
import type { ApiHost } from '../api/index.ts';
import { bundlePath } from './bundle-path.ts';
import { seeAsCaller } from './as-caller.ts';
import { createExaminer } from './examine-apart.ts';
import { introduceHost, type Opening } from './reach-daemon.ts';
import { parsePublicKey, parseWitness } from '../evidence/index.ts';
import type { LiveConfig, ResolvedConfig } from '../config/index.ts';
import { createEngine, type Engine } from '../engine.ts';
import { createBeside } from '../operations/beside-runs.ts';
import { createKeptAnswers } from '../operations/kept-answers.ts';
import { localActor } from '../operations/record-act.ts';
import { recordDecisions } from '../operations/record-decisions.ts';
import { createRunBytes } from '../operations/run-bytes.ts';
import { makeLateSeals, type Repeat } from '../operations/seal-ended.ts';
import type { Caisson, CaissonOptions } from '../caisson-contract.ts';
import { createLibrary } from './library.ts';
import { requireTrust } from './trusted-config.ts';

/** Also for other processes: what a daemon serves. */
export async function openHere({ cwd, bus, live }: Opening, options: CaissonOptions): Promise<OpenedHost> {
  const engine = createEngine(live.current, cwd, { ...options, bus });
  const { unread = [] } = live.current;
  if (unread.length === 0 && options.isDaemon !== true) await settleOrReport(engine, options);
  const beside = createBeside(engine);
  const caisson = createLibrary(engine, cwd, live, beside);
  return {
    engine,
    forOwner: () => recordDecisions(caisson, engine, localActor(options.client)),
    settleLeft: () => settleLeft(engine, options),
    readConfig: () => live.current,
    reloadConfig: (accept) => live.reload(accept),
    changedSinceOpened: () => live.changedSinceOpened(),
    async beginWork(repeat) {
      await requireTrust(engine.config);
      await engine.openPost();
      beside.begin(repeat);
    },
    caisson,
    async forCaller(caller) {
      const view = await seeAsCaller(engine, caller);
      return createLibrary(view.engine, caller.cwd, view.live, beside);
    },
    introduce: (nonce) => introduceHost(engine, nonce, options.version ?? 'unknown'),
    readKeys: (pems) => pems.map((pem) => parsePublicKey(pem, 'the given key')),
    readWitness: parseWitness,
    ...createExaminer(() => ({ stateDir: live.current.stateDir, cwd })),
    readDescription: () => readFile(bundlePath('openapi.json'), 'utf8'),
    bytes: createRunBytes(engine),
    kept: createKeptAnswers(engine),
    warn: (message) => void engine.bus.emit(BusTopic.WARNING, { source: 'daemon', message }),
  };
}

async function settleOrReport(engine: Engine, options: CaissonOptions): Promise<void> {
  try {
    await settleLeft(engine, options);
  } catch (error) {
    if (options.onUnsettled === undefined) {
      await engine.close();
      throw error;
    }
    options.onUnsettled(error as Error);
  }
}

async function settleLeft(engine: Engine, options: CaissonOptions): Promise<void> {
  const { left } = await engine.recover();
  // A run that cannot be settled now blocks no work.
  for (const error of left) {
    if (options.onUnsettled !== undefined) options.onUnsettled(error);
    else options.onNotice?.(error.message);
  }
  for (const message of (await makeLateSeals(engine)).failures) options.onNotice?.(message);
  if (options.onNotice !== undefined) {
    for (const message of await engine.workspaces.recoverApplies(engine.config)) options.onNotice(message);
  }
}

/** A project that is open in this process. */
export interface OpenedHost extends ApiHost {
  readonly engine: Engine;
  /** For the program that opened it: what it decides is recorded. */
  forOwner(): Caisson;
  /** Settles what dead hosts left: runs, seals and interrupted applies. A daemon does that when it may adopt. */
  settleLeft(): Promise<void>;
  /** What the files said when they were last read; `checkConfig` reads them again. */
  readConfig(): ResolvedConfig;
  /** The same as `checkConfig`, unless `accept` throws for what was read: then nothing has changed. */
  reloadConfig: LiveConfig['reload'];
  changedSinceOpened: LiveConfig['changedSinceOpened'];
  /**
   * Does all that a host does beside its runs, before there is one: it listens, seals and cleans up. Throws without the
   * user's agreement. `repeat` repeats the sealing.
   */
  beginWork(repeat: Repeat): Promise<void>;
}
