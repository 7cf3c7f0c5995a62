// Runs a scripted model server from a file: node serve.ts [--port N | --socket PATH] [--key KEY] [--log FILE]
// SCRIPT.json Prints one JSON line with its url when it listens, and one with the counted usage when it is stopped.

import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { definedOnly } from '@caisson/protocol';
import { startModelServer } from './model-server.ts';
import type { ScriptInput } from './script.ts';

const USAGE = `usage: serve [--port N | --socket PATH] [--key KEY] [--log FILE] SCRIPT.json

Serves the scripted answers of SCRIPT.json as a model, until SIGINT or SIGTERM.
  --port N       listen on this port of loopback; default: a free one
  --socket PATH  listen on a Unix socket instead
  --key KEY      refuse requests that bring another key
  --log FILE     append every request to this file at the end
`;

const { values, positionals } = readLine();
if (values.help === true) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const [scriptFile] = positionals;
if (scriptFile === undefined) refuse('there is no SCRIPT.json');

function readLine() {
  const value = { type: 'string' } as const;
  const options = { port: value, socket: value, key: value, log: value } as const;
  try {
    return parseArgs({
      allowPositionals: true,
      options: { ...options, help: { type: 'boolean', short: 'h' } },
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
}

/** A mistake on the command line is reported with what it should be. */
function refuse(message: string): never {
  process.stderr.write(`${message}\n${USAGE}`);
  process.exit(2);
}

/** Reports a mistake in the script in one line, not as a stack trace. */
function fail(error: Error): never {
  process.stderr.write(`${scriptFile}: ${error.message}\n`);
  process.exit(2);
}

const read = async (path: string): Promise<ScriptInput> =>
  JSON.parse(await readFile(path, 'utf8')) as ScriptInput;
const server = await startModelServer({
  script: await read(scriptFile).catch(fail),
  ...(values.port === undefined ? {} : { port: Number(values.port) }),
  ...definedOnly({ socketPath: values.socket, apiKey: values.key }),
}).catch(fail);
process.stdout.write(`${JSON.stringify({ listening: server.url, pid: process.pid })}\n`);

const stopSignal = Promise.withResolvers<void>();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopSignal.resolve());
await stopSignal.promise;
await server.stop();
if (values.log !== undefined) {
  for (const request of server.requests) appendFileSync(values.log, `${JSON.stringify(request)}\n`);
}
process.stdout.write(`${JSON.stringify({ requests: server.requests.length, usage: server.usage() })}\n`);
