// Accepts callbacks from Caisson only if they are signed, fresh and new.
//   CALLBACK_KEY=… PORT=8787 node examples/callback-receiver.mjs Prints one JSON line for each event it accepts. Your
//   own receiver needs `check`.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const REPLAY_WINDOW_S = 5 * 60;
const MAX_BODY_BYTES = 1024 * 1024;

/** Why a delivery is not believed, or null. `seen` remembers deliveries; give the same map each time. */
export function check({ headers, body, key, nowS, seen }) {
  const run = headers['x-caisson-run'] ?? '';
  const timestamp = headers['x-caisson-timestamp'] ?? '';
  const given = Buffer.from(headers['x-caisson-signature'] ?? '');
  const mac = createHmac('sha256', key).update(`${run}.${timestamp}.`).update(body).digest('hex');
  const expected = Buffer.from(`sha256=${mac}`);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'the signature is wrong';
  if (!(Math.abs(nowS - Number(timestamp)) <= REPLAY_WINDOW_S)) return 'it is older than five minutes';
  const delivery = headers['x-caisson-delivery'] ?? '';
  for (const [id, atS] of seen) if (nowS - atS > 2 * REPLAY_WINDOW_S) seen.delete(id);
  if (seen.has(delivery)) return 'it was taken before';
  seen.set(delivery, nowS);
  return null;
}

export function createReceiver({ key, onEvent }) {
  const seen = new Map();
  return createServer((request, response) => {
    const chunks = [];
    let size = 0;
    request.on('data', (chunk) => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) request.destroy();
      else chunks.push(chunk);
    });
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const problem = check({ headers: request.headers, body, key, nowS: Date.now() / 1000, seen });
      if (problem === null) onEvent(JSON.parse(body.toString('utf8')));
      // A repeated delivery is answered well, or it would be sent again.
      response.writeHead(problem === null || problem === 'it was taken before' ? 204 : 401).end();
    });
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const key = process.env.CALLBACK_KEY;
  if (!key) throw new Error('Set CALLBACK_KEY to the key that caisson.yaml names.');
  const server = createReceiver({ key, onEvent: (event) => console.log(JSON.stringify(event)) });
  server.listen(Number(process.env.PORT ?? 8787), '127.0.0.1', () => {
    console.error(`listening on http://127.0.0.1:${server.address().port}`);
  });
}
