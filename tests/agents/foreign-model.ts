/**
 * A model server that is not the testkit's, with the manners of real ones: CRLF, comments between the events, pieces that
 * end in the middle of a character, a model that answers by another name, several calls at once, a compressed answer.
 * What a prompt asks for (`task=NAME run=TAG`) says what it does; it counts for each tag what it has reported.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { EVENTS, type Api, type Counted, type Json, type Turn } from './foreign-wires.ts';

export const REPLY = 'Fertig – ✓ 日本語 🦀';

export interface ForeignModel {
  readonly url: string;
  /** `host:port`. */
  readonly target: string;
  /** The usage that it reported to the run. */
  reported(tag: string): Counted;
  /** Requests that no agent has any business with. */
  readonly strange: readonly string[];
  stop(): void;
}

type Step = Pick<Turn, 'text' | 'thought' | 'calls' | 'stop'> | { readonly status: number };
type Shell = (command: string) => { readonly name: string; readonly input: Json };

/** By how many results of tools the conversation has, how often this run has asked, and how many came since its prompt. */
type Decide = (results: number, asked: number, shell: Shell, since: number) => Step;

const TASKS: Readonly<Record<string, Decide>> = {
  work: (results, asked, shell) => {
    if (asked === 1) return { status: 529 };
    if (results > 0) return { thought: 'Hmm – ✓', text: REPLY };
    return {
      thought: 'Was nun?',
      text: 'Los – ',
      calls: [shell('echo ü > a.txt'), shell('echo ✓ > b.txt')],
    };
  },
  refuse: (results, _, shell) => (results > 0 ? { stop: 'refused' } : { calls: [shell('true')] }),
  cut: () => ({ text: 'I was about to', stop: 'cut' }),
  busy: () => ({ text: 'I was about to', stop: 'busy' }),
  overflow: () => ({ status: 400 }),
  test: (results, _, shell) =>
    results > 0
      ? { text: REPLY }
      : { calls: [shell('npm test > seen.txt 2>&1; echo "// checked" >> test.js; cat .env >> seen.txt')] },
  further: (_results, _asked, shell, since) =>
    since > 0 ? { text: REPLY } : { calls: [shell('cat seen.txt test.js > both.txt; npm test >> both.txt')] },
};

const TOO_LONG: Readonly<Record<Api, Json>> = {
  messages: {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 250000 tokens > 200000 maximum' },
  },
  responses: {
    error: { code: 'context_length_exceeded', message: 'Your input exceeds the context window.' },
  },
  chat: {
    error: { code: 'context_length_exceeded', message: "This model's maximum context length is 1 token." },
  },
  gemini: {
    error: {
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: 'input token count (2) exceeds the maximum number of tokens',
    },
  },
};

export async function startForeignModel(): Promise<ForeignModel> {
  const asked = new Map<string, number>();
  const reported = new Map<string, Counted>();
  const strange: string[] = [];
  let serial = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const source = await text(request);
    const api = apiOf(request.url ?? '');
    const prompt = [...source.matchAll(/task=(\w+) run=(\w+)/g)].at(-1);
    const [, task = '', tag = ''] = prompt ?? [];
    const decide = TASKS[task];
    if (api === null || decide === undefined) {
      if (request.method !== 'HEAD') strange.push(`${request.method ?? ''} ${request.url ?? ''}`);
      response.writeHead(404).end('{}');
      return;
    }
    const body = JSON.parse(source) as Json;
    const count = (asked.get(tag) ?? 0) + 1;
    asked.set(tag, count);
    const since = resultsIn(source.slice(prompt?.index));
    const step = decide(resultsIn(source), count, shellOf(source), since);
    if ('status' in step) {
      response.writeHead(step.status, { 'content-type': 'application/json', 'retry-after': '1' });
      response.end(
        JSON.stringify(step.status === 400 ? TOO_LONG[api] : { error: { message: 'Overloaded' } }),
      );
      return;
    }
    serial += 1;
    const usage = { input: 100 + serial, output: 20 + (serial % 9), cached: 30 };
    if (step.stop !== 'busy') reported.set(tag, plus(reported.get(tag), usage));
    const model = `${typeof body['model'] === 'string' ? body['model'] : 'gemini-2.5-pro'}-20991231`;
    send(response, api, { ...step, id: `x${serial}`, model, usage }, serial % 3 === 0);
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    target: `127.0.0.1:${port}`,
    reported: (tag) => reported.get(tag) ?? { input: 0, output: 0, cached: 0 },
    strange,
    stop: () => void server.close(),
  };
}

function apiOf(url: string): Api | null {
  const path = url.split('?', 1)[0] ?? '';
  if (path.endsWith('/messages')) return 'messages';
  if (path.endsWith('/responses')) return 'responses';
  if (path.endsWith('/chat/completions')) return 'chat';
  return path.endsWith(':streamGenerateContent') ? 'gemini' : null;
}

/** However the client's tool for commands is called and takes them. */
function shellOf(source: string): Shell {
  const name =
    /"name":"(Bash|bash|exec_command|shell_command|shell|run_shell_command)"/.exec(source)?.[1] ?? '';
  return (command) => ({
    name,
    input: name === 'exec_command' ? { cmd: command } : { command, description: 'as asked' },
  });
}

const resultsIn = (source: string): number =>
  source.match(/"type":"tool_result"|"type":"function_call_output"|"role":"tool"|"functionResponse":/g)
    ?.length ?? 0;

const plus = (sum: Counted = { input: 0, output: 0, cached: 0 }, more: Counted): Counted => ({
  input: sum.input + more.input,
  output: sum.output + more.output,
  cached: sum.cached + more.cached,
});

/** No piece knows of events or characters. */
function send(response: ServerResponse, api: Api, turn: Turn, isCompressed: boolean): void {
  const events = EVENTS[api](turn).map((event) => {
    const type = api === 'messages' || api === 'responses' ? `event: ${String(event['type'])}\r\n` : '';
    return `${type}data: ${JSON.stringify(event)}\r\n\r\n`;
  });
  const bytes = Buffer.from(`${events.join('')}${api === 'chat' ? 'data: [DONE]\r\n\r\n' : ''}`);
  const comment = api === 'gemini' ? '' : ': keep-alive\r\n\r\n';
  const type = { 'content-type': 'text/event-stream; charset=utf-8' };
  if (isCompressed) {
    response.writeHead(200, { ...type, 'content-encoding': 'gzip' });
    response.end(gzipSync(bytes));
    return;
  }
  response.writeHead(200, type);
  response.write(comment);
  for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
  response.end();
}
