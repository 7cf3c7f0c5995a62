/**
 * The ordered list of named checks that every task passes, from every caller: CLI, library, retry, answer, another
 * agent. A check returns a refusal or null; it changes nothing.
 */
import { describeExcess, isWithin } from '@caisson/policy';
import { InputEntry, MAX_INPUTS, MAX_OVERLAYS, SessionName } from '@caisson/protocol';
import type { Candidate } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import { findUnbringable } from './brought-paths.ts';
import { countIdenticalFailures, MAX_IDENTICAL_FAILURES } from './identical-failures.ts';
import { findUnkeepableWork } from './kept-work.ts';
import { findUnenforceableScope } from './only-scope.ts';
import { findMissingVariable, listCheckedSecrets } from './passed-variables.ts';
import { describeFull, poolLimit } from './pool-limit.ts';
import { check as createCheck, RUNTIME_CHECKS, type Check } from './runtime-checks.ts';
import { findBadRemote } from './remote-repository.ts';
import { findSecretInBranch } from './secret-in-branch.ts';
import { findUnreadableInput } from './stored-inputs.ts';
import { findTakenBranch } from './taken-branch.ts';
import { findImpossibleCleanRoom, findLensWithoutCheck } from './verify-lens.ts';
import { findBundleBeyondParent, findLoginBeyondParent } from './within-parent.ts';
import { findBeyondProject, findOwnFolder } from './within-project.ts';
import {
  findBadRequest,
  findMisplacedCommand,
  findNoWorkTree,
  findNoRepository,
  findHomeAsWorkspace,
  findUnknownBase,
} from './request-checks.ts';

/** Nothing in them that a check uses changes anything: money is reserved, and the run recorded, after every check passed. */
export type CheckRooms = Pick<
  DispatchRooms,
  'settings' | 'names' | 'workspaces' | 'ledger' | 'store' | 'secrets' | 'probeSandbox'
>;

const check = createCheck<Candidate, CheckRooms>;

export const ADMISSION_CHECKS: readonly Check<Candidate, CheckRooms>[] = [
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
  check('remote', findBadRemote),
  check('work-tree', (candidate, { settings }) => findNoWorkTree(candidate, settings)),
  check('repository', findNoRepository),
  check('not-the-home', findHomeAsWorkspace),
  check('base-known', findUnknownBase),
  check('brought-there', findUnbringable),
  check('branch-free', findTakenBranch),
  check('scope-enforceable', findUnenforceableScope),
  check('run-continued', ({ request: { continues } }, { ledger }) =>
    continues === undefined || ledger.run(continues) !== null
      ? null
      : {
          kind: 'usage',
          detail: `there is no run "${continues}" to continue`,
          remedy: 'caisson runs lists them.',
        },
  ),
  check('work-kept', findUnkeepableWork),
  RUNTIME_CHECKS.modelKey,
  RUNTIME_CHECKS.modeCeiling,
  check('verify-lens', findLensWithoutCheck),
  check('clean-room', findImpossibleCleanRoom),
  RUNTIME_CHECKS.suggestEnforced,
  RUNTIME_CHECKS.networkEnforced,
  RUNTIME_CHECKS.callsLimited,
  check('non-escalation', ({ grant, request }) => {
    if (request.parent === undefined || isWithin(grant, request.parent.grant)) return null;
    return {
      kind: 'policy',
      detail: `asks for more than its parent has: ${describeExcess(grant, request.parent.grant).join('; ')}`,
    };
  }),
  check('within-project', (candidate, { settings }) => findBeyondProject(candidate, settings)),
  check('own-folder', findOwnFolder),
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
  RUNTIME_CHECKS.modeExpressible,
  RUNTIME_CHECKS.sandboxAvailable,
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
  check('variables', findMissingVariable),
  check('secret-references', ({ request, runtime, envBundles }, { secrets, settings }) => {
    const refs = [
      ...listCheckedSecrets(request, settings),
      ...envBundles.flatMap((bundle) => Object.values(bundle.secrets)),
      ...(runtime.apiKeyRef === null ? [] : [runtime.apiKeyRef]),
      ...(request.gitToken === undefined ? [] : [request.gitToken]),
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
  RUNTIME_CHECKS.turnsCountable,
];
