import { describeProbeBasis, probeSandbox } from '@caisson/ground';
import type { Ledger } from '../ledger/index.ts';

const SPACE = 'sandbox-probe';

interface SandboxProblem {
  readonly detail: string;
  readonly remedy: string;
}

/** On what basis a sandbox was possible when this process tried last. */
let possibleOn: string | null = null;

/**
 * Why no sandbox is possible on this machine, as a refusal of admission; null when one is. Only a success is
 * remembered, and only until the kernel, its settings or bubblewrap change: a launch that fails all the same ends the
 * run, it never runs without a sandbox.
 */
export async function probeSandboxHere({
  kv,
  whenFree,
}: Pick<Ledger, 'kv' | 'whenFree'>): Promise<SandboxProblem | null> {
  const basis = describeProbeBasis();
  if (basis !== null && kv.get(SPACE, 'possible') === basis) return null;
  const problem = await findNoSandbox();
  if (problem === null && basis !== null) await whenFree(() => kv.set(SPACE, 'possible', basis));
  return problem;
}

/** The same without a record: for a project that has no state yet. */
export async function findNoSandbox(): Promise<SandboxProblem | null> {
  const basis = describeProbeBasis();
  if (basis !== null && possibleOn === basis) return null;
  const probe = await probeSandbox();
  if (probe.ok) {
    possibleOn = basis;
    return null;
  }
  return {
    detail: `no sandbox is possible here: ${probe.reason ?? 'unknown'}`,
    remedy: `${probe.remedy ?? 'See caisson doctor.'} To run without one: --sandbox none.`,
  };
}
