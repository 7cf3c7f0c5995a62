// The peer: a server of Node alone that makes text of an event for each reader, and writes it at once.
// node bench/sse/plain-server.ts EVENTS_PER_SECOND
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const everyMs = 1000 / Number(process.argv[2]);
const readers = new Set<ServerResponse>();
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(':\n\n');
  readers.add(response);
  response.once('close', () => readers.delete(response));
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/\n`),
);

const begunMs = performance.now();
let number = 0;
setInterval(() => {
  for (; number * everyMs < performance.now() - begunMs; number += 1) {
    const event = {
      ...{ type: 'tool.started', version: 1, seq: number, offset: number, runId: 'run_00000000000000000001' },
      ...{
        attempt: 1,
        at: new Date().toISOString(),
        trace: '0'.repeat(32),
        callId: `c${number}`,
        tool: 'bash',
      },
      input: { command: `echo ${number}` },
    };
    for (const reader of readers) reader.write(`id: ${number}\ndata: ${JSON.stringify(event)}\n\n`);
  }
}, everyMs);
