// Runs a scripted model server from a file: node serve.ts [--port N | --socket PATH] [--key KEY] [--log FILE]
// SCRIPT.json Prints one JSON line with its url when it listens, and one with the counted usage when it is stopped.

import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { startModelServer } from './model-server.ts';
import type { ScriptInput } from './script.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: 'string' },
    socket: { type: 'string' },
    key: { type: 'string' },
    log: { type: 'string' },
  },
});
const [scriptFile] = positionals;
if (scriptFile === undefined) {
  process.stderr.write('usage: serve [--port N | --socket PATH] [--key KEY] [--log FILE] SCRIPT.json\n');
  process.exit(2);
}

/** Reports a mistake in the script in one line, not as a stack trace. */
function fail(error: Error): never {
  process.stderr.write(`${scriptFile ?? ''}: ${error.message}\n`);
  process.exit(2);
}

const read = async (path: string): Promise<ScriptInput> =>
  JSON.parse(await readFile(path, 'utf8')) as ScriptInput;
const server = await startModelServer({
  script: await read(scriptFile).catch(fail),
  ...(values.port === undefined ? {} : { port: Number(values.port) }),
  ...(values.socket === undefined ? {} : { socketPath: values.socket }),
  ...(values.key === undefined ? {} : { apiKey: values.key }),
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
