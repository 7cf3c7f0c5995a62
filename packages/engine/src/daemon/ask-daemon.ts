/** Asks the daemon of a project about itself, over its socket. */
import { request } from 'node:http';
import { join } from 'node:path';
import { throughFolder } from '@caisson/ground';
import {
  DaemonIdentity,
  DaemonStatus,
  definedOnly,
  FaceStanding,
  Problem,
  ReloadReport,
  type FaceOrder,
  type StopOrder,
} from '@caisson/protocol';
import * as z from 'zod/mini';
import { FACE_PATH } from './control-routes.ts';
import { SOCKET_NAME } from './daemon-socket.ts';
import { DaemonRefusedError, DaemonSilentError, OtherDaemonError, type SaidRuns } from './errors.ts';

const ANSWER_LIMIT_MS = 3000;
/** A configuration may be on a slow disk. */
const RELOAD_LIMIT_MS = 30_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export async function askStatus(stateDir: string): Promise<DaemonStatus> {
  return readAnswer(DaemonStatus, await ask(stateDir, { method: 'GET', path: '/v1/status' }));
}

export async function askToStop(stateDir: string, order: StopOrder): Promise<DaemonStatus> {
  return readAnswer(DaemonStatus, await ask(stateDir, { method: 'POST', path: '/v1/stop', body: order }));
}

export async function askToReload(stateDir: string): Promise<ReloadReport> {
  const how = { method: 'POST', path: '/v1/reload', limitMs: RELOAD_LIMIT_MS };
  return readAnswer(ReloadReport, await ask(stateDir, how));
}

export async function askForFace(stateDir: string, order: FaceOrder): Promise<FaceStanding> {
  return readAnswer(FaceStanding, await ask(stateDir, { method: 'POST', path: FACE_PATH, body: order }));
}

export async function askToEndFace(stateDir: string): Promise<void> {
  await ask(stateDir, { method: 'DELETE', path: FACE_PATH });
}

/** The part of a status that replacing needs. */
const RunsPart: z.ZodMiniType<SaidRuns> = z.object({
  running: z.optional(z.int()),
  queued: z.optional(z.int()),
  adoptionVersion: z.optional(z.int()),
});

/** Throws OtherDaemonError for what another version says. */
function readAnswer<T>(schema: z.ZodMiniType<T>, answer: unknown): T {
  const read = z.safeParse(schema, answer);
  if (read.success) return read.data;
  const identity = z.safeParse(DaemonIdentity, answer).data ?? null;
  throw new OtherDaemonError(identity, z.safeParse(RunsPart, answer).data);
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly limitMs?: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The daemon's metrics, as a page for Prometheus. */
export async function askMetrics(stateDir: string): Promise<string> {
  return await askForText(stateDir, { method: 'GET', path: '/v1/metrics' });
}

async function ask(stateDir: string, asked: Asked): Promise<unknown> {
  return JSON.parse(await askForText(stateDir, asked));
}

/** Throws DaemonSilentError when nothing answers in time. */
async function askForText(stateDir: string, asked: Asked): Promise<string> {
  const { status, text } = await throughFolder(join(stateDir, 'runtime'), (prefix) =>
    exchange(`${prefix}/${SOCKET_NAME}`, asked),
  ).catch((cause: unknown) => {
    throw new DaemonSilentError('the daemon does not answer', { cause });
  });
  if (status < 300) return text;
  throw toRefusal(status, text);
}

function exchange(
  socketPath: string,
  { method, path, body, limitMs = ANSWER_LIMIT_MS }: Asked,
): Promise<Answer> {
  const payload = body === undefined ? '' : JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) };
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(limitMs);
    const asked = request({ socketPath, method, path, headers, agent: false, signal }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) asked.destroy(new Error('the answer is too long'));
        else chunks.push(chunk);
      });
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    asked.once('error', reject);
    asked.end(payload);
  });
}

function toRefusal(status: number, text: string): DaemonRefusedError {
  const parsed = z.safeParse(Problem, parseJson(text));
  if (!parsed.success) return new DaemonRefusedError('DAEMON_REFUSED', `the daemon answered ${status}`);
  const { code, message, remedy } = parsed.data;
  return new DaemonRefusedError(code, message, definedOnly({ remedy }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
