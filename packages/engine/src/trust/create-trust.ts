import type { Clock } from '@caisson/ground';
import { toReal, type KeySend, type TrustDecision, type TrustRequest } from '../config/index.ts';
import type { AskLine, Trust, TrustRecord, TrustReport } from './contract.ts';
import { describeAsks, formatAsk } from './describe-asks.ts';
import { digestAsks, digestParts, isNoMore } from './digest-asks.ts';
import { openTrustStore } from './trust-store.ts';

export interface TrustOptions {
  /** The user's state folder, with `trust.json`. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, 'now'>;
}

const VARIABLE = 'CAISSON_TRUST';

export function createTrust({ folder, env, clock }: TrustOptions): Trust {
  const store = openTrustStore(folder);
  const named = parseVariable(env[VARIABLE] ?? '');
  const weigh = async (request: TrustRequest) => {
    const lines = await describeAsks(request.projectRoot, request.asks);
    const digest = digestAsks(lines, request);
    const agreed = named?.digest === digest ? named : store.find(toReal(request.projectRoot));
    const isVariableStale = (env[VARIABLE] ?? '') !== '' && named?.digest !== digest;
    return { ...createReport(request, lines, digest, agreed), isVariableStale };
  };
  return {
    report: weigh,
    async decide(request) {
      return toDecision(await weigh(request));
    },
    async grant(request, sendsTo) {
      const { digest, lines } = await weigh(request);
      const agreed = request.sends.filter(({ to }) => sendsTo.includes(to));
      await store.put(toReal(request.projectRoot), {
        digest,
        grantedAt: clock.now().toISOString(),
        lines: lines.map(formatAsk),
        sends: agreed.map(({ credential, to }) => ({ credential, to })),
        parts: digestParts(lines, request),
      });
      return weigh(request);
    },
    revoke: (projectRoot) => store.remove(toReal(projectRoot)),
  };
}

function toDecision({ status, digest }: TrustReport): TrustDecision {
  if (status === 'nothing-asked') return { kind: status };
  return status === 'granted' ? { kind: status, digest } : { kind: 'required', digest, reason: status };
}

/** By record, or by the variable, which names only addresses: its digest covers the credentials. */
interface Agreed {
  readonly digest: string;
  readonly lines?: readonly string[];
  readonly sends?: TrustRecord['sends'];
  readonly parts?: TrustRecord['parts'];
  readonly sendsTo?: readonly string[];
}

function createReport(
  request: TrustRequest,
  lines: readonly AskLine[],
  digest: string,
  agreed: Agreed | null,
): Omit<TrustReport, 'isVariableStale'> {
  const isSame =
    agreed?.digest === digest ||
    (agreed?.parts !== undefined && isNoMore(digestParts(lines, request), agreed.parts));
  const missingSends = listAddresses(request.sends.filter((send) => !isAgreed(agreed, send)));
  const status =
    lines.length === 0
      ? 'nothing-asked'
      : agreed === null
        ? 'new'
        : !isSame
          ? 'changed'
          : missingSends.length > 0
            ? 'send'
            : 'granted';
  return {
    projectRoot: request.projectRoot,
    digest,
    status,
    lines,
    sends: request.sends,
    missingSends,
    difference: status === 'changed' ? compareLines(agreed?.lines ?? [], lines.map(formatAsk)) : [],
    variable: [digest, ...listAddresses(request.sends).map((to) => `send-key=${to}`)].join(','),
  };
}

function isAgreed(agreed: Agreed | null, { credential, to }: KeySend): boolean {
  if (agreed?.sendsTo?.includes(to) === true) return true;
  return agreed?.sends?.some((send) => send.credential === credential && send.to === to) === true;
}

function listAddresses(sends: readonly KeySend[]): string[] {
  return [...new Set(sends.map(({ to }) => to))];
}

function compareLines(before: readonly string[], after: readonly string[]): TrustReport['difference'] {
  return [
    ...before.filter((line) => !after.includes(line)).map((line) => ({ sign: '-' as const, line })),
    ...after.filter((line) => !before.includes(line)).map((line) => ({ sign: '+' as const, line })),
  ];
}

/** `sha256:<hex>[,send-key=<address>]…`; anything else agrees to nothing. */
function parseVariable(text: string): Agreed | null {
  const [digest = '', ...rest] = text.split(',').map((part) => part.trim());
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) return null;
  return { digest, sendsTo: rest.flatMap((part) => (part.startsWith('send-key=') ? [part.slice(9)] : [])) };
}

/** The same project by any path to it. */
