import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DispatchResult } from '@caisson/protocol';
import { startModelServer } from '@caisson/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { openLocalStore } from '../../packages/engine/src/store/index.ts';
import { createProject, ROOT, type Project } from './project.ts';

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const HI = '98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4';
const HI_REPLY = '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4';
const GRANT =
  '{"mode":"auto-edit","read":["/"],"write":["PROJECT"],"hosts":[],"tools":[],"limits":{"memory":4294967296,"pids":512,"disk":10737418240},"budget":{},"depth":2,"sandbox":"bwrap"}';

/** Result v1 of a command that says "hi" and does nothing else, byte for byte. Other programs read this. */
const DEFAULT_RESULT = `{"schemaVersion":1,"runId":"RUN","attempt":1,"nonce":"NONCE","status":"finished","exitCode":0,"durationMs":0,"reply":{"ref":"${HI_REPLY}","head":"hi","bytes":2},"outputs":[],"blocks":[{"kind":"agent","ordinal":0,"status":"ok","exitCode":0,"durationMs":0},{"kind":"capture","ordinal":1,"status":"ok","durationMs":0},{"kind":"capture","ordinal":2,"status":"ok","durationMs":0}],"policy":{"grant":${GRANT},"enforced":ENFORCED,"denials":[]},"logs":{"stdout":{"ref":"${HI}","bytes":3,"truncated":false},"stderr":{"ref":"${EMPTY}","bytes":0,"truncated":false}}}\n`;

async function readBlob({ root }: Project, ref: string): Promise<string> {
  return (await openLocalStore(join(root, '.caisson/store')).getBlob(ref)).toString();
}

it('the bytes of a default result are pinned, but for ids, times, paths and what this machine can enforce', async () => {
  const project = createProject();
  const run = await project.run('--', 'echo', 'hi');
  const ending = (await project.events(run.runId)).find((event) => event.type === 'dispatch.finished');
  const ref = String(ending?.['resultRef']);
  const stored = await readBlob(project, ref);
  expect(normalise(stored, run, project)).toBe(DEFAULT_RESULT);
});

/** Without what differs from run to run and from machine to machine. */
function normalise(stored: string, { runId, result }: DispatchResult, { root }: Project): string {
  return stored
    .replace(runId, 'RUN')
    .replace(/"nonce":"[0-9a-f]{64}"/, '"nonce":"NONCE"')
    .replaceAll(/"durationMs":\d+/g, '"durationMs":0')
    .replace(root, 'PROJECT')
    .replace(JSON.stringify(result?.policy.enforced), 'ENFORCED');
}

const KEY = 'sk-test-key-0123456789';
/** Its patch and its reply are pinned by their digests; its standard output names its session. */
const AGENT_RESULT = `{"schemaVersion":1,"runId":"RUN","attempt":1,"nonce":"NONCE","status":"finished","exitCode":0,"durationMs":0,"reply":{"ref":"87153e76ee176d97998578f07eb888a94b6652136bdbf5bdc6882dd78e6a82aa","head":"It is written.","bytes":14},"patchRef":"5d5582856aea285305320e75b6541a6535aaea8a15e762546a72bd50b1790ee0","outputs":[],"usage":{"models":["scripted"],"inputTokens":200,"outputTokens":20,"cacheReadTokens":0,"cacheWriteTokens":0,"turns":2,"toolCalls":1},"blocks":[{"kind":"agent","ordinal":0,"status":"ok","exitCode":0,"durationMs":0},{"kind":"capture","ordinal":1,"status":"ok","durationMs":0},{"kind":"capture","ordinal":2,"status":"ok","durationMs":0}],"policy":{"grant":${GRANT},"enforced":ENFORCED,"denials":[]},"logs":{"stdout":{"ref":"STDOUT","bytes":555,"truncated":false},"stderr":{"ref":"${EMPTY}","bytes":0,"truncated":false}},"resume":{"sessionId":"SESSION","usage":{"inputTokens":200,"outputTokens":20,"cacheReadTokens":0,"cacheWriteTokens":0}}}\n`;

it('the bytes of the result of an agent are pinned in the same way', async () => {
  const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const edit = { intent: 'write-file' as const, path: 'new.txt', content: 'new\n' };
  const model = await startModelServer({
    apiKey: KEY,
    script: [
      { say: 'I write it.', tool: edit, usage },
      { say: 'It is written.', usage },
    ],
  });
  onTestFinished(() => model.stop());
  const native = `native: { endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: scripted }`;
  const config = `runtime: native\nruntimes:\n  ${native}\n`;
  const project = createProject({ env: { MODEL_KEY: KEY }, config });
  const run = await project.run('write new.txt');
  const ending = (await project.events(run.runId)).find((event) => event.type === 'dispatch.finished');
  const stored = await readBlob(project, String(ending?.['resultRef']));
  const normal = normalise(stored, run, project)
    .replace(/"sessionId":"[0-9a-f-]{36}"/, '"sessionId":"SESSION"')
    .replace(run.result?.logs.stdout.ref ?? '', 'STDOUT');
  expect(normal).toBe(AGENT_RESULT);
});

const PATCH = readFileSync(join(ROOT, 'tests/e2e/fixtures/golden-edit.patch'), 'utf8');
const TREE = '2e9089e3393ed76b7271d1699a85e60f415b8260';
const MANIFEST = String.raw`{"base":{"baselineTree":"27c30bffe83ecd02f32225c5c4b91a89ddc93829","commit":"COMMIT"},"capabilities":[],"env":{"bundles":[],"names":[]},"host":HOST,"inputs":[],"model":{"requested":""},"pipeline":{"hash":"3ceef0b1fd88baba501b831b085fc4c1a309b90b3a642783a39d1e0653cab01c","id":"caisson.default"},"policy":{"ceiling":"full-auto","grant":{"budget":{},"depth":2,"hosts":[],"limits":{"disk":10737418240,"memory":4294967296,"pids":512},"mode":"auto-edit","read":["/"],"sandbox":"bwrap","tools":[],"write":["PROJECT"]},"rulesHash":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},"prompts":{"user":"0a6006c27ae6b0fdb4cffc398113ec9132c318c18aa540102e7edbe716dc1647"},"runId":"RUN","runtime":{"binary":"BINARY","name":"command","version":null},"schemaVersion":1,"task":{"description":"sh -ec echo four >> src/code.txt; chmod +x run.sh; rm gone.bin; mkdir new; printf \"no end\" > \"new/é file.txt\"; printf \"\\0\\1\" > new/b.bin; ln -s src link","id":"RUN","priority":5,"scope":[]}}`;

it('the patch, the tree and the manifest of an edit are pinned, byte for byte', async () => {
  const project = createProject();
  project.write('src/code.txt', 'one\ntwo\nthree\n');
  project.write('run.sh', 'echo old\n');
  project.write('gone.bin', Buffer.from([0, 255, 1, 254]));
  project.git('add', '.');
  project.git('commit', '-qm', 'files');
  project.write('draft.txt', 'not committed\n');
  const edit =
    'echo four >> src/code.txt; chmod +x run.sh; rm gone.bin; mkdir new; printf "no end" > "new/é file.txt"; printf "\\0\\1" > new/b.bin; ln -s src link';
  const { runId, result } = await project.run('--', 'sh', '-ec', edit);
  expect(await readBlob(project, result?.patchRef ?? '')).toBe(PATCH);
  expect(project.git('rev-parse', `refs/caisson/${runId}/1^{tree}`).trim()).toBe(TREE);
  const sealed = (await project.events(runId)).find((event) => event.type === 'evidence.sealed');
  const manifest = await readBlob(project, String(sealed?.['manifestRef']));
  const normal = manifest
    .replaceAll(runId, 'RUN')
    .replace(/"commit":"[0-9a-f]{40}"/, '"commit":"COMMIT"')
    .replace(/"id":"task_[^"]*"/, '"id":"TASK"')
    .replace(/"binary":"[0-9a-f]{64}"/, '"binary":"BINARY"')
    .replace(/"host":\{[^}]*\}/, '"host":HOST')
    .replaceAll(project.root, 'PROJECT');
  expect(normal).toBe(MANIFEST);
});
