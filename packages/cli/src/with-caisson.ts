import { existsSync } from 'node:fs';
import {
  createCaisson,
  describeMisnamedConfig,
  getCurrentFolder,
  inspectTrust,
  isAgreed,
  rehearseRegistration,
  TrustRequiredError,
  type Caisson,
  type CaissonOptions,
} from '@caisson/engine';
import { definedOnly } from '@caisson/protocol';
import { canAsk } from './ask-on-terminal.ts';
import { usesDaemon } from './daemon-choice.ts';
import { ownSpareWorkers } from './early-worker.ts';
import type { Output } from './output.ts';
import { printWarnings } from './print-warnings.ts';
import { VERSION } from './version.ts';

/**
 * Opens the project for one command and closes it in every case. With `output`, the host's warnings are printed. A project
 * without a state folder gets none: it has no runs.
 */
export async function withCaisson<T>(
  stateDir: string | undefined,
  work: (caisson: Caisson) => Promise<T>,
  output?: Output,
  given: Pick<CaissonOptions, 'client' | 'onUnread'> = {},
): Promise<T> {
  return await use(stateDir, { ...(output === undefined ? {} : notices(output)), ...given }, work, output);
}

/** Registers, and makes the state folder for it, unless the registration is refused. */
export async function withRegistry<T>(
  stateDir: string | undefined,
  output: Output,
  register: (registry: Caisson['registry']) => Promise<T>,
): Promise<T> {
  await rehearseRegistration(register, { stateDir });
  return await withCaissonToWrite(stateDir, output, ({ registry }) => register(registry));
}

/** The same for a command that writes and needs no earlier run: it makes the state folder. */
export async function withCaissonToWrite<T>(
  stateDir: string | undefined,
  output: Output,
  work: (caisson: Caisson) => Promise<T>,
  given: Pick<CaissonOptions, 'client' | 'rehearse' | 'onUnread'> = {},
): Promise<T> {
  const options = { makesState: true, ...notices(output), ...given };
  return await use(stateDir, options, work, output);
}

/**
 * The same for a command that starts work: a person at the terminal is asked about what the project asks for. With
 * `rehearse` it may be the project's first run: that may refuse it, and then the state folder is made.
 */
export async function withCaissonToWork<T>(
  stateDir: string | undefined,
  output: Output,
  work: (caisson: Caisson) => Promise<T>,
  rehearse?: CaissonOptions['rehearse'],
): Promise<T> {
  await agreeFirst(stateDir, output);
  const begin = async (caisson: Caisson): Promise<T> => {
    const misnamed = describeMisnamedConfig(caisson.config.projectRoot, getCurrentFolder());
    if (misnamed !== null) output.note(`warning: ${misnamed}`);
    return await work(caisson);
  };
  const makesState = rehearse !== undefined;
  return await use(stateDir, { makesState, ...notices(output), ...definedOnly({ rehearse }) }, begin, output);
}

export async function agreeFirst(stateDir: string | undefined, output: Output): Promise<void> {
  if (!canAsk(output)) return;
  const report = await inspectTrust({ flags: { state: stateDir } });
  if (isAgreed(report)) return;
  const { agreeToProject } = await import('./agree-to-project.ts');
  const agreed = await agreeToProject(report, stateDir, output);
  if (agreed === null || !isAgreed(agreed)) throw new TrustRequiredError(agreed ?? report);
}

/** The same for a command that only reads: what cannot be settled now is a warning, and everything else is shown. */
export async function withCaissonToRead<T>(
  stateDir: string | undefined,
  output: Output,
  work: (caisson: Caisson) => Promise<T>,
): Promise<T> {
  const onUnsettled = (error: Error): void =>
    output.note(`warning: what a dead process left could not be settled: ${error.message}`);
  const look = async (caisson: Caisson): Promise<T> => {
    const folder = caisson.config.stateDir;
    if (stateDir !== undefined && !existsSync(folder)) output.note(`warning: there is no folder ${folder}`);
    return await work(caisson);
  };
  return await use(stateDir, { onUnsettled, onUnread: warnUnread(output), ...notices(output) }, look);
}

/** The same for a command that steers or stops work that is there: a configuration that is not valid does not hinder it. */
export async function withCaissonToSteer<T>(
  stateDir: string | undefined,
  output: Output,
  work: (caisson: Caisson) => Promise<T>,
): Promise<T> {
  return await use(stateDir, { onUnread: warnUnread(output) }, work, output);
}

/** A configuration that is not valid: what has the problem counts as absent in this process. */
export function warnUnread(output: Output): (problem: string) => void {
  return (problem) => output.note(`warning: left out here: ${problem}`);
}

function notices(output: Output): Pick<CaissonOptions, 'onNotice'> {
  return { onNotice: (message) => output.note(`note: ${message}`) };
}

async function use<T>(
  stateDir: string | undefined,
  options: CaissonOptions,
  work: (caisson: Caisson) => Promise<T>,
  output?: Output,
): Promise<T> {
  const caisson = await createCaisson({
    version: VERSION,
    // Asked for by a process that is the host.
    get spareWorkers() {
      return ownSpareWorkers();
    },
    makesState: false,
    daemon: usesDaemon(),
    ...options,
    ...definedOnly({ stateDir }),
  });
  if (output !== undefined) printWarnings(caisson, output);
  try {
    return await work(caisson);
  } finally {
    await caisson.close();
  }
}
