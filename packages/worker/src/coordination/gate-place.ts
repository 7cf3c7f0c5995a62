/**
 * Checks from outside whether the socket of the agent's hooks is still ours. In the sandbox it is a mount that cannot
 * be moved; without one any process there can remove it, and every hook then denies. Either way we notice.
 */
import { statSync, type BigIntStats } from 'node:fs';
import type { Failure } from '@caisson/protocol';
import { deny, type AttemptContext } from '../attempt/index.ts';
import { INSIDE } from '../view/index.ts';

export interface GatePlace {
  /** Ends the agent, once, when the gate is gone or another one is in its place. */
  check(): void;
}

export function watchGatePlace(
  context: AttemptContext,
  socketPath: string,
  end: (failure: Failure) => void,
): GatePlace {
  const own = statSync(socketPath, { bigint: true });
  let isKnown = false;
  return {
    check() {
      const place = isKnown ? null : placeOf(context, socketPath);
      const what = place === null ? null : describeFault(place, own);
      if (what === null) return;
      isKnown = true;
      deny(context, { layer: 'gate', what, rule: 'gate-replaced' });
      end({ reason: 'policy-denied', detail: `${what}: no call can be judged any more` });
    },
  };
}

interface Place {
  /** The file system that the agent sees; it goes with the agent. */
  readonly root: string;
  readonly socket: string;
}

/** As the agent sees it; `null` while there is no agent. */
function placeOf({ job, running }: AttemptContext, socketPath: string): Place | null {
  if (job.grant.sandbox === 'none') return { root: '/', socket: socketPath };
  const pid = running?.agentPid() ?? null;
  if (pid === null) return null;
  return { root: `/proc/${pid}/root/`, socket: `/proc/${pid}/root${INSIDE.toolSocket}` };
}

/** An agent that ends meanwhile takes its view along: only a socket that is missing while its root is there was removed. */
function describeFault({ root, socket }: Place, own: BigIntStats): string | null {
  const found = lookAt(socket);
  if (found === null) return lookAt(root) === null ? null : 'the socket of the gate was removed';
  const isOwn = found.dev === own.dev && found.ino === own.ino;
  return isOwn ? null : 'the socket of the gate was replaced';
}

function lookAt(path: string): BigIntStats | null {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return null; // gone, or a process that has ended meanwhile
  }
}
