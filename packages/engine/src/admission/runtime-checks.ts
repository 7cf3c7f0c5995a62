/** The checks of runtime, mode and machine. They need no task, so the doctor makes them, too. */
import { MODES, type Mode } from '@caisson/protocol';
import type { Refusal } from './contract.ts';
import type { Prospect } from './choose-runtime.ts';
import type { DispatchRooms } from './rooms.ts';
import { passesBroker } from './login-files.ts';
import { findNoCredential } from './model-credential.ts';
import { findUnlimitedCalls, type RequestRefusal } from './request-checks.ts';

export type RuntimeCheckRooms = Pick<DispatchRooms, 'settings' | 'secrets' | 'probeSandbox'>;

/** A named check: it returns a refusal or null, and changes nothing. */
export interface Check<C, R> {
  readonly name: string;
  run(candidate: C, rooms: R): Promise<Refusal | null>;
}

export function check<C, R>(
  name: string,
  run: (candidate: C, rooms: R) => RequestRefusal | null | Promise<RequestRefusal | null>,
): Check<C, R> {
  return {
    name,
    async run(candidate, rooms) {
      const refusal = await run(candidate, rooms);
      return refusal === null ? null : { check: name, ...refusal };
    },
  };
}

const runtimeCheck = check<Prospect, RuntimeCheckRooms>;

export const RUNTIME_CHECKS = {
  modelKey: runtimeCheck('model-key', findNoCredential),
  modeCeiling: runtimeCheck('mode-ceiling', ({ grant }, { settings }) =>
    modeRank(grant.mode) > modeRank(settings.ceiling)
      ? {
          kind: 'policy',
          detail: `mode ${grant.mode} is above the ceiling ${settings.ceiling}`,
          remedy: `Use --mode ${settings.ceiling}, or raise policy.ceiling in caisson.yaml.`,
        }
      : null,
  ),
  // Invariant 5: only the sandbox stops a command from writing.
  suggestEnforced: runtimeCheck('suggest-enforced', ({ grant }) =>
    grant.mode === 'suggest' && grant.sandbox === 'none'
      ? {
          kind: 'policy',
          detail:
            'mode suggest promises that nothing is written, and without a sandbox that promise cannot be kept',
          remedy: 'Leave out --sandbox none, or use --mode auto-edit.',
        }
      : null,
  ),
  // Invariant 5: only the sandbox separates a program from the network.
  networkEnforced: runtimeCheck('network-enforced', ({ grant }) =>
    grant.sandbox === 'none' && !grant.hosts.includes('*')
      ? {
          kind: 'policy',
          detail: `${grant.hosts.length === 0 ? 'no network' : `only ${grant.hosts.join(', ')}`} is granted, and without a sandbox every host can be reached`,
          remedy: 'Leave out --sandbox none, or allow all of the network: --network full.',
        }
      : null,
  ),
  callsLimited: runtimeCheck('calls-limited', findUnlimitedCalls),
  modeExpressible: runtimeCheck('mode-expressible', ({ grant, runtime }) =>
    runtime.descriptor.modes[grant.mode] === null
      ? {
          kind: 'policy',
          detail: `${runtime.name} cannot express the mode ${grant.mode}`,
          remedy: 'caisson runtimes shows what each runtime can do.',
        }
      : null,
  ),
  sandboxAvailable: runtimeCheck('sandbox-available', async ({ grant }, rooms) => {
    if (grant.sandbox === 'none') return null;
    const problem = await rooms.probeSandbox();
    return problem === null ? null : { kind: 'unavailable', detail: problem.detail, remedy: problem.remedy };
  }),
  // The runtime reports one turn for the whole run, so the answers are counted, which must pass here.
  turnsCountable: runtimeCheck('turns-countable', ({ grant, runtime }) =>
    grant.budget.turns !== undefined && runtime.descriptor.reportsUsageOnce === true && !passesBroker(runtime)
      ? {
          kind: 'budget',
          detail: `a cap on turns is set, and the turns of ${runtime.name} cannot be counted with a mounted log-in`,
          remedy: `Cap tool calls instead (--max-tool-calls), or set runtimes.${runtime.name}.apiKey instead of the log-in.`,
        }
      : null,
  ),
} as const;

const modeRank = (mode: Mode): number => MODES.indexOf(mode);
