// Posts each line of stdin, one CloudEvent, to a webhook. A post that fails is tried again, so that none is lost; the
// receiver sees some twice then, with the same id. The offset of the last event that was taken is kept in a file.
//   caisson events -f --after "$(cat offset 2> /dev/null || echo 0)" --format cloudevents \
//     | node examples/post-events.mjs http://127.0.0.1:8787/hook offset
import { renameSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const [url, offsetFile] = process.argv.slice(2);
const MAX_PAUSE_MS = 30_000;

let rest = '';
for await (const chunk of process.stdin.setEncoding('utf8')) {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) await deliver(line);
}

async function deliver(line) {
  for (let waitMs = 250; !(await post(line)); waitMs = Math.min(waitMs * 2, MAX_PAUSE_MS))
    await pause(waitMs);
  const { offset } = JSON.parse(line).data;
  if (offsetFile === undefined || offset === 0) return; // 0: only published
  writeFileSync(`${offsetFile}.new`, String(offset));
  renameSync(`${offsetFile}.new`, offsetFile);
}

/** What the receiver refuses for good (400 to 499) is not sent again. */
async function post(body) {
  try {
    const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8' };
    const { status } = await fetch(url, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(10_000),
    });
    const isTaken = status < 300 || (status >= 400 && status < 500 && status !== 408 && status !== 429);
    if (!isTaken) process.stderr.write(`${url} answered ${status}; trying again\n`);
    return isTaken;
  } catch (error) {
    process.stderr.write(`${url}: ${error.cause?.message ?? error.message}; trying again\n`);
    return false;
  }
}
