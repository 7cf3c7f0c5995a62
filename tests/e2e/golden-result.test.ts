import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject } from './project.ts';

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const HI = '98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4';
const HI_REPLY = '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4';
const GRANT =
  '{"mode":"auto-edit","read":["/"],"write":["PROJECT"],"hosts":[],"tools":[],"limits":{"memory":4294967296,"pids":512,"disk":10737418240},"budget":{},"depth":2,"sandbox":"bwrap"}';

/** Result v1 of a command that says "hi" and does nothing else, byte for byte. Other programs read this. */
const DEFAULT_RESULT = `{"schemaVersion":1,"runId":"RUN","attempt":1,"nonce":"NONCE","status":"finished","exitCode":0,"durationMs":0,"reply":{"ref":"${HI_REPLY}","head":"hi","bytes":2},"outputs":[],"blocks":[{"kind":"agent","ordinal":0,"status":"ok","exitCode":0,"durationMs":0},{"kind":"capture","ordinal":1,"status":"ok","durationMs":0},{"kind":"capture","ordinal":2,"status":"ok","durationMs":0}],"policy":{"grant":${GRANT},"enforced":ENFORCED,"denials":[]},"logs":{"stdout":{"ref":"${HI}","bytes":3,"truncated":false},"stderr":{"ref":"${EMPTY}","bytes":0,"truncated":false}}}\n`;

it('the bytes of a default result are pinned, but for ids, times, paths and what this machine can enforce', async () => {
  const project = createProject();
  const run = await project.run('--', 'echo', 'hi');
  const ending = (await project.events(run.runId)).find((event) => event.type === 'dispatch.finished');
  const ref = String(ending?.['resultRef']);
  const stored = readFileSync(
    join(project.root, '.caisson/store/blobs', ref.slice(0, 2), ref.slice(2)),
    'utf8',
  );
  const normal = stored
    .replace(run.runId, 'RUN')
    .replace(/"nonce":"[0-9a-f]{64}"/, '"nonce":"NONCE"')
    .replaceAll(/"durationMs":\d+/g, '"durationMs":0')
    .replace(project.root, 'PROJECT')
    .replace(JSON.stringify(run.result?.policy.enforced), 'ENFORCED');
  expect(normal).toBe(DEFAULT_RESULT);
});
