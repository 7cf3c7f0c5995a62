/** Whatever runs in the sandbox may fill a disk, or only pretend to: both are bounded, and nothing is lost. */
import { chmodSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject } from '../e2e/project.ts';

const FILL = 'dd if=/dev/zero of=big bs=1M count=64 2>/dev/null; sleep 30';

describe('a command that fills the disk past its limit', { timeout: 60_000 }, () => {
  it('is ended as the setup that it is', async () => {
    const project = createProject({
      config: `limits: { disk: 5m }\nworkspace: { setup: ${JSON.stringify(FILL)} }\n`,
    });
    const result = await project.run('--', 'true');
    expect(result.failure).toMatchObject({ reason: 'worker-failed', cause: 'disk', step: 9 });
    expect(result.failure?.detail).toContain('the limit is 5242880');
  });

  it.each(['gate', 'verify', 'clean-room'])('ends the run when it is a %s script', async (lens) => {
    const blocks = [
      { kind: 'agent' },
      { kind: 'capture', what: 'patch' },
      { kind: 'script', command: FILL, lens },
    ];
    const project = createProject({
      config: `limits: { disk: 5m }\npipelines: { test.fill: ${JSON.stringify({ blocks })} }\n`,
    });
    const result = await project.run('--pipeline', 'test.fill', '--', 'true');
    expect(result.failure).toMatchObject({ reason: 'provider-failed', cause: 'disk' });
    expect(result.failure?.detail).toContain(lens);
  });
});

/** A stand-in for claude-code that says something without end. */
const TALKER = `#!/usr/bin/env node
if (process.argv.includes('--version')) { console.log('2.0.14 (Claude Code)'); process.exit(0); }
const say = (n) => JSON.stringify({ type: 'assistant', message: { id: 'm' + n, content: [{ type: 'text', text: 'x'.repeat(3000) }] } }) + '\\n';
let n = 0;
const go = () => { while (process.stdout.write(say(n++))); process.stdout.once('drain', go); };
go();
`;

describe('an agent that talks without end', { timeout: 120_000 }, () => {
  it('fills its record no further than the limit of its disk', async () => {
    const project = createProject({
      env: { MODEL_KEY: 'sk-dummy' },
      config: `limits: { disk: 5m }\nruntimes: { claude-code: { bin: ./talker, endpoint: "http://127.0.0.1:9", apiKey: "env:MODEL_KEY" } }\n`,
    });
    project.write('talker', TALKER);
    chmodSync(join(project.root, 'talker'), 0o755);
    const result = await project.run('--runtime', 'claude-code', '--timeout', '60s', 'talk');
    expect(result.failure).toMatchObject({ reason: 'provider-failed', cause: 'disk' });
    expect(result.failure?.detail).toContain('the record of what the agent said and did');
  });
});

describe('files that are too large to be captured', { timeout: 60_000 }, () => {
  it('are left out, kept and named, and the rest is captured in good time', async () => {
    const project = createProject();
    const result = await project.run('--', 'sh', '-c', 'truncate -s 8G hole; echo new >new');
    expect(result.status).toBe('done');
    expect(result.durationMs).toBeLessThan(20_000);
    expect((await project.caisson('diff', result.runId)).stdout).toContain('+new');
    const warning = (await project.events(result.runId)).find((event) => event.type === 'warning');
    const message = String(warning?.['message']);
    expect(message).toContain('hole (8589934592 bytes)');
    const place = join(/kept in (\S+)/.exec(message)?.[1] ?? '', 'hole');
    expect(existsSync(place) && statSync(place).size).toBe(8_589_934_592);
  });

  it('do not hold up an attempt that fails', async () => {
    const project = createProject();
    const result = await project.run('--', 'sh', '-c', 'truncate -s 8G hole; exit 3');
    expect(result.failure).toMatchObject({ reason: 'provider-failed' });
    const messages = (await project.events(result.runId)).map((event) => String(event['message']));
    expect(messages.some((message) => message.includes('hole (8589934592 bytes)'))).toBe(true);
  });

  it('end the run when they are outputs that are too much together', async () => {
    const project = createProject();
    const make = 'mkdir outputs; for i in $(seq 11); do truncate -s 100M outputs/$i; done';
    const result = await project.run('--', 'sh', '-c', make);
    expect(result.failure).toMatchObject({ reason: 'output-invalid' });
    expect(result.failure?.detail).toContain('together');
  });
});
