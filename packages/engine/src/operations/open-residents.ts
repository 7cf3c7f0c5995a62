/** Joins the room of residents with the engine. Loaded by a daemon that has some. */
import { BusTopic, definedOnly } from '@caisson/protocol';
import type { Caisson } from '../caisson-contract.ts';
import { openResidentStarter } from '../composition/open-resident-starter.ts';
import { readHostEnvironment, type ResolvedConfig } from '../config/index.ts';
import { DaemonStoppingError, type Gate } from '../daemon/index.ts';
import { describeRun } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { createResidents, createThreads, guardSecrets, type Residents } from '../residents/index.ts';
import { cancelRun } from './cancel-run.ts';
import { readPatch } from './run-patch.ts';

export interface ResidentHost {
  readonly engine: Engine;
  readonly gate: Gate;
  /** What the user has agreed to. */
  readConfig(): ResolvedConfig;
  /** The project as this process's own caller sees it now. */
  openCaisson(env: Record<string, string>): Promise<Caisson>;
}

export async function openResidents({
  engine,
  gate,
  readConfig,
  openCaisson,
}: ResidentHost): Promise<Residents> {
  const { projectRoot, limits } = engine.config;
  const warn = (message: string): void =>
    void engine.bus.emit(BusTopic.WARNING, { source: 'residents', message });
  const residents = await createResidents({
    ...engine,
    projectRoot,
    starter: openResidentStarter(engine.rooms, {}, warn),
    readSettings() {
      const { senses, workflows } = readConfig();
      return { senses: Object.values(senses), workflows: Object.values(workflows) };
    },
    openThreads: (runtime) =>
      createThreads({
        ...engine,
        runtime,
        projectRoot,
        depth: limits.depth,
        findWorkflow: (name) => readConfig().workflows[name] ?? null,
        dispatch: (request) =>
          gate
            .enter(async () => (await openCaisson(definedOnly(readHostEnvironment()))).dispatch(request))
            .catch(leaveToNextDaemon),
        describeRun: (runId) => describeRun(engine.rooms, runId),
        measurePatch: async (runId) => (await readPatch(engine, runId)).length,
        cancelRun: (runId) => cancelRun(engine, runId),
        warn,
      }),
    warn,
    limits: {},
  });
  return guardSecrets(residents, { projectRoot, clock: engine.clock, warn });
}

/** The step stays open: the next daemon asks its role again. */
function leaveToNextDaemon(error: unknown): Promise<never> {
  if (error instanceof DaemonStoppingError) return new Promise(() => undefined);
  throw error;
}
