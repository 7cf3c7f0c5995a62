import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { countUsage, REFUSAL_TEXT, type Answer, type CountedUsage } from './answer.ts';
import { findPosition, type Conversation, type Position } from './conversation.ts';
import type { Route } from './route.ts';
import type { Fault, ModelScript } from './script.ts';
import { sendCut, sendGarbage, sendSlowly, sendStalled, sendWhole, type Sending } from './send.ts';
import { toToolCall } from './tool-intents.ts';
import type { ErrorKind, Json } from './wire/wire.ts';

export interface AskedBody {
  readonly json: Json;
  readonly bytes: number;
  readonly path: string;
}

/** Turns requests into replies. It only remembers how often a fault with `times` has happened. */
export interface Replies {
  answer(response: ServerResponse, route: Route, asked: AskedBody): Promise<void>;
  count(response: ServerResponse, route: Route, bytes: number): void;
  error(response: ServerResponse, route: Route, kind: ErrorKind, detail?: string): void;
  unknown(response: ServerResponse, method: string, path: string): void;
}

export function createReplies(
  scripts: readonly ModelScript[],
  charge: (usage: CountedUsage) => void,
): Replies {
  const strikes = new Map<string, number>();
  let serial = 0;
  return {
    answer: async (response, route, asked) => {
      const conversation = route.wire.parse(asked.json, asked.path);
      const position = findPosition(scripts, conversation);
      const fault = position === null ? null : strike(strikes, scripts, position, conversation);
      if (position?.turn.afterMs !== undefined) await delay(position.turn.afterMs);
      if (fault !== null && isErrorFault(fault)) return sendError(response, route, fault);
      const answer = createAnswer(conversation, position, fault, `${(serial += 1)}`, asked.bytes);
      const onSent = () => charge(answer.usage);
      await send(response, { route, answer, isStream: conversation.isStream, onSent }, fault);
    },
    count: (response, route, bytes) => {
      const tokens = Math.max(1, Math.ceil(bytes / 4));
      sendJson(response, 200, route.api === 'gemini' ? { totalTokens: tokens } : { input_tokens: tokens });
    },
    error: sendError,
    unknown: (response, method, path) => {
      if (path.endsWith('/models') && method === 'GET')
        return sendJson(response, 200, { object: 'list', data: [], models: [] });
      // Some clients request the root first.
      if (method === 'HEAD' || path === '/') return sendJson(response, 200, {});
      return sendJson(response, 404, {
        error: { message: `the testkit does not serve ${method} ${path}`, type: 'not_found' },
      });
    },
  };
}

const isErrorFault = (fault: Fault): fault is Extract<Fault, ErrorKind> =>
  ['401', '429', '529', '500', 'context-overflow'].includes(fault);

/** The fault of this turn, unless its `times` are used up for this very conversation. */
function strike(
  strikes: Map<string, number>,
  scripts: readonly ModelScript[],
  position: Position,
  conversation: Conversation,
): Fault | null {
  const { fault, times } = position.turn;
  if (fault === undefined || times === undefined) return fault ?? null;
  const prompts = conversation.entries.filter((entry) => entry.kind === 'user');
  const digest = createHash('sha256').update(JSON.stringify(prompts)).digest('hex');
  const key = `${scripts.indexOf(position.script)}/${position.index}/${digest}`;
  const struck = strikes.get(key) ?? 0;
  strikes.set(key, struck + 1);
  return struck < times ? fault : null;
}

function createAnswer(
  conversation: Conversation,
  position: Position | null,
  fault: Fault | null,
  serial: string,
  requestBytes: number,
): Answer {
  const id = `testkit${serial.padStart(6, '0')}`;
  const turn = position?.turn ?? { say: 'The script has no turn for this request.' };
  const isSilent = fault === 'empty' || fault === 'refusal';
  const call = isSilent || turn.tool === undefined ? null : toToolCall(turn.tool, conversation.tools, id);
  const missing = turn.tool !== undefined && call === null && !isSilent;
  const offered = conversation.tools.map((tool) => tool.name).join(', ');
  const text = missing
    ? `No offered tool can do "${turn.tool?.intent}". Offered: ${offered === '' ? 'none' : offered}.`
    : fault === 'refusal'
      ? REFUSAL_TEXT
      : fault === 'empty'
        ? ''
        : (turn.say ?? '');
  const usage = countUsage(turn.usage, requestBytes, text.length + JSON.stringify(call?.input ?? '').length);
  const how = { isRefusal: fault === 'refusal', isCut: fault === 'max-tokens' };
  return { id, model: conversation.model, text, call, ...how, usage };
}

/** Only answers that the client could read completely are charged; a cut or stalled answer is not. */
async function send(response: ServerResponse, sending: Sending, fault: Fault | null): Promise<void> {
  if (fault === 'stall') return sendStalled(response, sending);
  if (fault === 'cut') return sendCut(response, sending);
  if (fault === 'garbage') return sendGarbage(response);
  if (fault === 'drip') return sendSlowly(response, sending);
  return sendWhole(response, sending);
}

function sendError(response: ServerResponse, route: Route, kind: ErrorKind, detail?: string): void {
  const error = route.wire.error(kind, detail);
  sendJson(response, error.status, error.body, error.headers);
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
