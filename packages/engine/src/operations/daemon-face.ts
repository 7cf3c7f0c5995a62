/** The daemon on TCP: where it listens, and that the next daemon listens there, too. */
import type { RequestListener } from 'node:http';
import { createSequence } from '@caisson/ground';
import { definedOnly, type ApiConfig, type FaceOrder, type FaceStanding } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { ApiHost } from '../api/index.ts';
import type { Engine } from '../engine.ts';
import {
  createLinks,
  createTokens,
  listOrigins,
  LOOPBACK,
  readCertificate,
  readPlace,
  type ListenPlace,
} from '../face/index.ts';
import { VisitRefusedError } from '../platform/index.ts';
import { answerVisits } from './answer-visits.ts';
import type { DaemonMcp } from './daemon-mcp.ts';
import { openTcpServer, type TcpServer } from './tcp-server.ts';

const REMEMBERED = ['face', 'listen'] as const;
/** The port stays the same when it is opened again: a bookmark and a tunnel go on. */
const Remembered = z.union([
  z.object({ host: z.string(), port: z.int(), isOpen: z.boolean() }),
  // A version before this one kept the port alone, and nothing once it was closed.
  z.pipe(
    z.int(),
    z.transform((port) => ({ host: LOOPBACK, port, isOpen: true })),
  ),
]);

export interface DaemonFace {
  /** Listens, if it does not yet, and makes a link for one page. */
  open(order: FaceOrder): Promise<FaceStanding>;
  /** Ends it. `forgets`: the next daemon does not listen either. */
  close(forgets: boolean): Promise<void>;
  /** Listens where the user's file says, or a daemon before this one did. */
  reopen(): Promise<void>;
  /** Takes the certificate that is in its file now. Returns why it cannot be used: the one before goes on. */
  renew(): string | null;
  url(): string | null;
}

export interface FaceRooms {
  readonly engine: Engine;
  readonly host: ApiHost;
  readonly mcp: DaemonMcp;
  /** Answers the routes about the daemon itself. */
  readonly answerControl: RequestListener;
  warn(message: string): void;
}

export function createDaemonFace({ engine, host, mcp, answerControl, warn }: FaceRooms): DaemonFace {
  const { clock, ledger } = engine;
  const { api } = engine.config;
  const links = createLinks(clock);
  const visited = { engine, host, mcp, answerControl, links };
  let open: OpenPlace | null = null;
  const remembered = () => z.safeParse(Remembered, ledger.kv.get(...REMEMBERED)).data;
  const url = (): string | null => (open === null ? null : `${open.origins[0]}/`);
  const begin = async (place: Required<ListenPlace>): Promise<void> => {
    const certificate = readCertificate(place.host, api);
    const server = await openTcpServer({ ...place, certificate }, (onKnown) =>
      answerVisits({ ...visited, origins: () => open?.origins ?? [], onKnown }),
    );
    const at = { host: place.host, port: server.port };
    open = { ...at, server, origins: listOrigins(at, api) };
    await ledger.whenFree(() => ledger.kv.set(...REMEMBERED, { ...at, isOpen: true }));
  };
  /** Without a port: the last one, or a free one where another program has it now. */
  const beginAt = async (place: ListenPlace): Promise<void> => {
    if (place.port !== undefined) return await begin({ ...place, port: place.port });
    const last = remembered();
    const port = last?.host === place.host ? last.port : 0;
    await begin({ ...place, port }).catch(async (error: unknown) => {
      if (port === 0 || error instanceof VisitRefusedError) throw error;
      await begin({ ...place, port: 0 });
    });
  };
  /** Two at once would listen twice, and only one of them would ever be closed. */
  const inTurn = createSequence();
  return {
    url,
    open: (order) =>
      inTurn(async () => {
        const named = readPlace(order);
        const port = named === null ? (order.port === 0 ? undefined : order.port) : named.port;
        const wanted = { ...(named ?? placeOf(api, remembered())), ...definedOnly({ port }) };
        if (open === null) await beginAt(wanted).catch((error: unknown) => refusePlace(wanted, error));
        else if ((named ?? open).host !== open.host || (port ?? open.port) !== open.port) refuseSecond(open);
        return { url: `${url()}`, link: `${url()}#link=${links.create()}` };
      }),
    reopen: () =>
      inTurn(async () => {
        const last = remembered();
        const place = readPlace(api) ?? (last?.isOpen === true ? last : null);
        if (place === null) return;
        await beginAt(place).catch((error: unknown) =>
          warn(`the dashboard is not served on ${describe(place)}: ${(error as Error).message}`),
        );
      }),
    renew: () => (open === null ? null : renewCertificate(open, api, warn)),
    close: (forgets) =>
      inTurn(async () => {
        const before = open;
        open = null;
        await before?.server.close();
        // After it: then nothing can ask for a session any more.
        if (forgets && ledger.isThere()) await forget(engine, remembered());
      }),
  };
}

/** The next daemon does not listen by itself, and no page of before is signed in there (F7). */
async function forget(
  { ledger, clock }: Engine,
  last: z.infer<typeof Remembered> | undefined,
): Promise<void> {
  if (last === undefined) return;
  await createTokens(ledger, clock).endSessions();
  await ledger.whenFree(() => ledger.kv.set(...REMEMBERED, { ...last, isOpen: false }));
}

interface OpenPlace extends Required<ListenPlace> {
  readonly server: TcpServer;
  readonly origins: readonly string[];
}

/** Returns why it was not renewed. */
function renewCertificate(
  { host, server }: OpenPlace,
  api: ApiConfig,
  warn: (message: string) => void,
): string | null {
  try {
    const certificate = readCertificate(host, api);
    if (certificate !== null) server.useCertificate(certificate);
    return null;
  } catch (error) {
    const problem = `the dashboard keeps its certificate: ${(error as Error).message}`;
    warn(problem);
    return problem;
  }
}

function placeOf(api: ApiConfig, last: ListenPlace | undefined): ListenPlace {
  return readPlace(api) ?? { host: last?.host ?? LOOPBACK };
}

function describe({ host, port }: ListenPlace): string {
  return port === undefined ? host : `${host} port ${port}`;
}

function refusePlace(place: ListenPlace, error: unknown): never {
  if (error instanceof VisitRefusedError) throw error;
  throw new VisitRefusedError(
    409,
    'PORT_TAKEN',
    `${describe(place)} cannot be opened: ${(error as Error).message}`,
    'Take another one: caisson ui --port N; without --port a free one is taken.',
  );
}

function refuseSecond(place: ListenPlace): never {
  const remedy = 'Use that one, or end it first: caisson ui --stop.';
  throw new VisitRefusedError(
    409,
    'ALREADY_LISTENING',
    `the daemon listens on ${describe(place)} already`,
    remedy,
  );
}
