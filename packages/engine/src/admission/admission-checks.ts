/**
 * The ordered list of named checks that every task passes, from every caller: CLI, library, retry, answer, another
 * agent. A check returns a refusal or null; it changes nothing.
 */
import { describeExcess, isWithin } from '@caisson/policy';
import { InputEntry, MAX_INPUTS, MAX_OVERLAYS, MODES, SessionName, type Mode } from '@caisson/protocol';
import type { Candidate, Refusal } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import { findUnbringable } from './brought-paths.ts';
import { countIdenticalFailures, MAX_IDENTICAL_FAILURES } from './identical-failures.ts';
import { findUnkeepableWork } from './kept-work.ts';
import { passesBroker } from './login-files.ts';
import { findNoCredential } from './model-credential.ts';
import { describeFull, poolLimit } from './pool-limit.ts';
import { findSecretInBranch } from './secret-in-branch.ts';
import { findUnreadableInput } from './stored-inputs.ts';
import { findTakenBranch } from './taken-branch.ts';
import { findImpossibleCleanRoom, findLensWithoutCheck } from './verify-lens.ts';
import { findBundleBeyondParent, findLoginBeyondParent } from './within-parent.ts';
import {
  findBadRequest,
  findMisplacedCommand,
  findNoWorkTree,
  findNoRepository,
  findHomeAsWorkspace,
  findUnknownBase,
  findUnlimitedCalls,
} from './request-checks.ts';

/** Without what would change something: money is reserved, and the run recorded, after every check passed. */
type CheckRooms = Omit<
  DispatchRooms,
  'budget' | 'recorder' | 'compute' | 'requests' | 'seal' | 'recoverDead'
>;

export interface AdmissionCheck {
  readonly name: string;
  run(candidate: Candidate, rooms: CheckRooms): Refusal | null | Promise<Refusal | null>;
}

const check = (
  name: string,
  run: (
    candidate: Candidate,
    rooms: CheckRooms,
  ) => Omit<Refusal, 'check'> | null | Promise<Omit<Refusal, 'check'> | null>,
): AdmissionCheck => ({
  name,
  async run(candidate, rooms) {
    const refusal = await run(candidate, rooms);
    return refusal === null ? null : { check: name, ...refusal };
  },
});

export const ADMISSION_CHECKS: readonly AdmissionCheck[] = [
  check('task-present', ({ description }) =>
    description.trim() === ''
      ? {
          kind: 'usage',
          detail: 'the task is empty',
          remedy: 'Describe the work: caisson run "fix the flaky test".',
        }
      : null,
  ),
  check('request-shape', findBadRequest),
  check('command-present', findMisplacedCommand),
  check('work-tree', (candidate, { settings }) => findNoWorkTree(candidate, settings)),
  check('repository', findNoRepository),
  check('not-the-home', findHomeAsWorkspace),
  check('base-known', findUnknownBase),
  check('brought-there', findUnbringable),
  check('branch-free', findTakenBranch),
  check('work-kept', findUnkeepableWork),
  check('model-key', findNoCredential),
  check('mode-ceiling', ({ grant }, { settings }) =>
    modeRank(grant.mode) > modeRank(settings.ceiling)
      ? {
          kind: 'policy',
          detail: `mode ${grant.mode} is above the ceiling ${settings.ceiling}`,
          remedy: `Use --mode ${settings.ceiling}, or raise policy.ceiling in caisson.yaml.`,
        }
      : null,
  ),
  check('verify-lens', findLensWithoutCheck),
  check('clean-room', findImpossibleCleanRoom),
  // Invariant 5: only the sandbox stops a command from writing.
  check('suggest-enforced', ({ grant }) =>
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
  check('network-enforced', ({ grant }) =>
    grant.sandbox === 'none' && !grant.hosts.includes('*')
      ? {
          kind: 'policy',
          detail: `${grant.hosts.length === 0 ? 'no network' : `only ${grant.hosts.join(', ')}`} is granted, and without a sandbox every host can be reached`,
          remedy: 'Leave out --sandbox none, or allow all of the network: --network full.',
        }
      : null,
  ),
  check('calls-limited', findUnlimitedCalls),
  check('non-escalation', ({ grant, request }) => {
    if (request.parent === undefined || isWithin(grant, request.parent.grant)) return null;
    return {
      kind: 'policy',
      detail: `asks for more than its parent has: ${describeExcess(grant, request.parent.grant).join('; ')}`,
    };
  }),
  check('env-within-parent', findBundleBeyondParent),
  check('login-within-parent', findLoginBeyondParent),
  check('dispatch-depth', ({ request }) =>
    request.parent !== undefined && request.parent.grant.depth < 1
      ? {
          kind: 'policy',
          detail: `run ${request.parent.runId} may not dispatch any deeper`,
          remedy: 'Raise limits.depth in caisson.yaml.',
        }
      : null,
  ),
  check('session-name', ({ session }) =>
    session === null || SessionName.safeParse(session).success
      ? null
      : {
          kind: 'usage',
          detail: `"${session.slice(0, 200)}" is not a valid name for a session`,
          remedy: 'Use letters, digits, dots, dashes and underscores; at most 64.',
        },
  ),
  check('mode-expressible', ({ grant, runtime }) =>
    runtime.descriptor.modes[grant.mode] === null
      ? {
          kind: 'policy',
          detail: `${runtime.name} cannot express the mode ${grant.mode}`,
          remedy: 'caisson runtimes shows what each runtime can do.',
        }
      : null,
  ),
  check('sandbox-available', async ({ grant }, rooms) => {
    if (grant.sandbox === 'none') return null;
    const problem = await rooms.probeSandbox();
    return problem === null ? null : { kind: 'unavailable', detail: problem.detail, remedy: problem.remedy };
  }),
  check('capabilities-bounded', ({ capabilities }) =>
    capabilities.length <= MAX_OVERLAYS
      ? null
      : {
          kind: 'usage',
          detail: `${capabilities.length} capabilities are too many; at most ${MAX_OVERLAYS} are copied over a workspace`,
        },
  ),
  check('inputs-named', ({ inputs }) => {
    const bad = inputs.find((input) => !InputEntry.shape.key.safeParse(input.key).success);
    if (bad !== undefined)
      return {
        kind: 'usage',
        detail: `"${bad.key}" cannot be the key of an input`,
        remedy: 'Use letters, digits, dots, dashes and underscores, beginning with a letter or digit.',
      };
    return inputs.length <= MAX_INPUTS
      ? null
      : { kind: 'usage', detail: `${inputs.length} inputs are too many; at most ${MAX_INPUTS} are accepted` };
  }),
  check('inputs-present', async ({ inputs }, { store }) => {
    for (const input of inputs) {
      if ('path' in input) {
        const refusal = findUnreadableInput(input);
        if (refusal === null) continue;
        return refusal;
      }
      if (await store.hasBlob(input.sha256)) continue;
      return { kind: 'usage', detail: `input ${input.key} is no longer in the store` };
    }
    return null;
  }),
  check('secret-references', ({ request, runtime, envBundles }, { secrets }) => {
    const refs = [
      ...Object.values(request.secrets ?? {}),
      ...envBundles.flatMap((bundle) => Object.values(bundle.secrets)),
      ...(runtime.apiKeyRef === null ? [] : [runtime.apiKeyRef]),
    ];
    for (const ref of refs) {
      const problem = secrets.check(ref);
      if (problem !== null) return { kind: 'usage', detail: problem };
    }
    return null;
  }),
  check('branch-without-secret', findSecretInBranch),
  check('callback-addresses', ({ request }) => {
    const bad = (request.callbacks ?? []).find((url) => !/^https?:$/.test(URL.parse(url)?.protocol ?? ''));
    return bad === undefined
      ? null
      : { kind: 'usage', detail: `"${bad}" is not a callback address: it must be an http(s) URL` };
  }),
  check('retry-breaker', ({ request, description }, { ledger }) => {
    const failures = countIdenticalFailures(request.continues, (runId) => {
      const row = ledger.run(runId);
      return row?.description === description ? row : null; // another task may go better
    });
    if (failures < MAX_IDENTICAL_FAILURES) return null;
    return {
      kind: 'budget',
      detail: `the same task failed ${failures} times in a row in the same way`,
      remedy: `Look at the last one (caisson show ${request.continues ?? ''}), or change the task and dispatch it again.`,
    };
  }),
  // Checked here so that a run without a place reserves no money; the check inside the acceptance decides.
  check('queue-bound', (candidate, { ledger, settings }) => {
    const { pool, bound } = poolLimit(candidate, settings);
    const isFull = ledger.leases.listSlots(pool).length + ledger.leases.queueLength(pool) >= bound;
    return isFull ? describeFull(candidate, settings) : null;
  }),
  // The runtime reports one turn for the whole run, so the answers are counted, which must pass here.
  check('turns-countable', ({ grant, runtime }) =>
    grant.budget.turns !== undefined && runtime.descriptor.reportsUsageOnce === true && !passesBroker(runtime)
      ? {
          kind: 'budget',
          detail: `a cap on turns is set, and the turns of ${runtime.name} cannot be counted with a mounted log-in`,
          remedy: `Cap tool calls instead (--max-tool-calls), or set runtimes.${runtime.name}.apiKey instead of the log-in.`,
        }
      : null,
  ),
];

const modeRank = (mode: Mode): number => MODES.indexOf(mode);
