/** Judges every request that comes over TCP before any route sees it (F1 to F4). */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '@caisson/ground';
import { VisitRefusedError } from '../platform/index.ts';
import type { Visitor } from './contract.ts';
import type { Tokens } from './tokens.ts';

const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;

/** MCP clients send their own headers: what they send is JSON for sure, because nothing else is read there. */
export type VisitKind = 'page' | 'operation' | 'mcp';

export interface Guard {
  /** F1 and F2; and F4 for what is no GET. Throws VisitRefusedError. */
  checkOrigin(request: IncomingMessage, kind: VisitKind): void;
  /** F3. Throws VisitRefusedError. */
  identify(request: IncomingMessage): Visitor;
  /** Counts a wrong token or link. Throws VisitRefusedError once there were too many. */
  countFailure(): void;
}

export interface GuardParts {
  readonly tokens: Pick<Tokens, 'check'>;
  readonly clock: Clock;
  /** Every origin that is ours: `http://127.0.0.1:8417`. */
  origins(): readonly string[];
}

export function createGuard({ tokens, clock, origins }: GuardParts): Guard {
  let failures: number[] = [];
  const countFailure = (): void => {
    const nowMs = clock.wallMs();
    failures = [...failures.filter((atMs) => nowMs - atMs < WINDOW_MS), nowMs].slice(-2 * MAX_FAILURES);
    if (failures.length > MAX_FAILURES)
      throw new VisitRefusedError(429, 'TOO_MANY_FAILURES', 'too many wrong tokens', 'Wait a minute.');
  };
  return {
    countFailure,
    checkOrigin(request, kind) {
      const { host = '', origin } = request.headers;
      const known = origins();
      if (!known.some((one) => one.slice(one.indexOf('//') + 2) === host))
        throw new VisitRefusedError(
          421,
          'WRONG_HOST',
          'this host does not answer to that name',
          `Open ${known[0]}/.`,
        );
      const site = request.headers['sec-fetch-site'];
      const isOpened =
        kind === 'page' && request.method === 'GET' && request.headers['sec-fetch-mode'] === 'navigate';
      const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none' && !isOpened;
      if (isForeign || (origin !== undefined && !known.includes(origin)))
        throw new VisitRefusedError(403, 'WRONG_ORIGIN', 'a page of another origin gets nothing here');
      if (kind !== 'mcp' && request.method !== 'GET' && request.method !== 'HEAD') checkForm(request);
    },
    identify(request) {
      const [, token = ''] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '') ?? [];
      const visitor = tokens.check(token);
      if (visitor !== null) return visitor;
      countFailure();
      throw new VisitRefusedError(
        401,
        'NOT_SIGNED_IN',
        token === '' ? 'a token is needed' : 'this token is not known, or has expired',
        'caisson ui opens a page that is signed in; caisson tokens create makes a token for a program.',
      );
    },
  };
}

/** No form and no simple request of a page can send these. */
function checkForm({ headers }: IncomingMessage): void {
  if (!/^application\/json(?:;|$)/.test(headers['content-type'] ?? ''))
    throw new VisitRefusedError(415, 'USAGE', 'what changes something is sent as application/json');
  if ((headers['caisson-client'] ?? '') === '')
    throw new VisitRefusedError(
      403,
      'USAGE',
      'what changes something needs the header caisson-client',
      'Its value is the name of your program.',
    );
}
