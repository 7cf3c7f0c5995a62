import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer } from '@caisson/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, type Project } from './project.ts';

const KEY = 'sk-ant-real-Zq81xP0vTn55LmRw7YbKc2';

async function startSite(
  listener: RequestListener = (_request, response) => response.end('from the site'),
): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function connections(project: Project, runId: string): Promise<unknown[]> {
  const events = await project.events(runId);
  return events.filter(({ type }) => type === 'network.connection');
}

it('a model that cannot be reached fails the run with that reason, however often its agent asks again', async () => {
  const project = createProject({
    env: { MODEL_KEY: KEY },
    config:
      'limits: { unreachable: 2s }\nruntimes: { claude-code: { bin: ./agent, endpoint: "http://127.0.0.1:9", apiKey: "env:MODEL_KEY" } }\n',
  });
  const ask = 'curl -s -H "x-api-key: $ANTHROPIC_API_KEY" -d "{}" "$ANTHROPIC_BASE_URL/v1/messages"';
  project.write('agent', `#!/bin/sh\nwhile :; do ${ask}; sleep 0.2; done\n`);
  chmodSync(join(project.root, 'agent'), 0o755);
  const ran = await project.run('--runtime', 'claude-code', 'ask for ever');
  expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'no-connection' });
  expect(ran.failure?.detail).toMatch(/could not be reached: connect ECONNREFUSED 127\.0\.0\.1:9, for \d+ s/);
  const events = await project.events(ran.runId);
  expect(events.filter(({ type }) => type === 'attempt.ended')).toEqual([]);
});

describe('the network of a run', () => {
  it('reaches a granted address and nothing else, and records both', async () => {
    const project = createProject();
    const port = await startSite();
    const script = `curl -sS --noproxy '' http://127.0.0.1:${port}/; echo; curl -s -o /dev/null -w '%{http_code}' http://elsewhere.example/`;
    const ran = await project.run('--network', `hosts=127.0.0.1:${port}`, '--', 'sh', '-c', script);
    expect(ran.stdout).toBe('from the site\n403');
    expect(await connections(project, ran.runId)).toMatchObject([
      { via: 'http', target: `127.0.0.1:${port}`, verdict: 'allowed', bytesDown: 13 },
      { via: 'http', target: 'elsewhere.example:80', verdict: 'denied' },
    ]);
    const denials = (await project.events(ran.runId)).filter(({ type }) => type === 'policy.denied');
    expect(denials).toMatchObject([
      {
        denial: {
          layer: 'network',
          what: 'connection to elsewhere.example:80: not granted',
          rule: 'network.hosts',
        },
      },
    ]);
  });

  it('is not there at all when nothing is granted', async () => {
    const project = createProject();
    const port = await startSite();
    const ran = await project.run('--', 'sh', '-c', `curl -s -m 5 http://127.0.0.1:${port}/; echo $?`);
    expect(ran.stdout).toBe('7\n');
    expect(await connections(project, ran.runId)).toEqual([]);
  });

  it('is the host’s own, without a relay, when every host is granted', async () => {
    const project = createProject();
    const port = await startSite();
    const ran = await project.run(
      '--network',
      'full',
      '--',
      'sh',
      '-c',
      `curl -sS http://127.0.0.1:${port}/`,
    );
    expect(ran.stdout).toBe('from the site');
  });

  it('brings a mapped service its key, for runs that are granted its host', async () => {
    const seen: unknown[] = [];
    const port = await startSite((request, response) => {
      seen.push([request.url, request.headers['private-token']]);
      response.end(`hello ${String(request.headers['private-token'])}`);
    });
    const project = createProject({
      env: { HOST_TOKEN: KEY },
      config: `network:\n  services:\n    code-host: { endpoint: "http://127.0.0.1:${port}/api", apiKey: "env:HOST_TOKEN", header: Private-Token }\n`,
    });
    const script = `curl -s -H "Private-Token: $CAISSON_SERVICE_CODE_HOST_KEY" "$CAISSON_SERVICE_CODE_HOST_URL/projects" || echo none`;
    const granted = await project.run('--network', `hosts=127.0.0.1:${port}`, '--', 'sh', '-c', script);
    const other = await project.run('--', 'sh', '-c', script);
    expect([granted.stdout, other.stdout]).toEqual(['hello [redacted:api-key]', 'none\n']);
    expect(seen).toEqual([['/api/projects', KEY]]);
  });

  it('fails a run whose model key cannot be fetched, before anything starts', async () => {
    const project = createProject({
      config: `runtimes:\n  native: { endpoint: "http://127.0.0.1:9", apiKey: "file:not-there" }\n`,
    });
    const ran = await project.run('--runtime', 'native', '--retries', '0', 'anything');
    expect(ran.failure).toMatchObject({ reason: 'fetch-failed', step: 7 });
    expect(ran.failure?.detail).toContain('file:not-there');
  });

  it('refuses the rest of the provider’s API to an agent that has its own plans, and records that', async () => {
    const model = await startModelServer({ script: [{ turns: [{ say: 'hi' }] }], apiKey: KEY });
    onTestFinished(() => model.stop());
    const project = createProject({
      env: { MODEL_KEY: KEY },
      config: `runtimes:\n  claude-code: { bin: ./agent, endpoint: "${model.url}", apiKey: "env:MODEL_KEY" }\n`,
    });
    const ask = (method: string, path: string): string =>
      `curl -s -X ${method} -H "x-api-key: $ANTHROPIC_API_KEY" "$ANTHROPIC_BASE_URL${path}"`;
    const script = [ask('GET', '/v1/files'), ask('DELETE', '/v1/models/mine'), ask('GET', '/v1/models')];
    project.write('agent', `#!/bin/sh\n${script.join('\n')}\n`);
    chmodSync(join(project.root, 'agent'), 0o755);
    const ran = await project.run('--runtime', 'claude-code', '--retries', '0', 'anything');
    expect(ran.stdout).toContain('GET /v1/files is not a call that a run may make to its model');
    const denials = (await project.events(ran.runId)).filter(({ type }) => type === 'policy.denied');
    expect(denials.map(({ denial }) => denial)).toMatchObject([
      { layer: 'network', rule: 'broker', what: expect.stringContaining('GET /v1/files') },
      { layer: 'network', rule: 'broker', what: expect.stringContaining('DELETE /v1/models/mine') },
    ]);
    expect(model.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /v1/models']);
  });

  it.each([['bwrap'], ['none']])(
    'brings the native agent to its model with a key it never sees, sandbox %s',
    async (sandbox) => {
      const model = await startModelServer({
        script: [{ turns: [{ say: 'the work is done' }] }],
        apiKey: KEY,
      });
      onTestFinished(() => model.stop());
      const project = createProject({
        env: { MODEL_KEY: KEY },
        config: `runtimes:\n  native: { endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: "claude-sonnet-4-5" }\n`,
      });
      const ran = await project.run('--runtime', 'native', '--sandbox', sandbox, 'say that it is done');
      expect([ran.failure, ran.status, ran.reply]).toEqual([undefined, 'done', 'the work is done']);
      expect(model.modelRequests().map(({ headers }) => headers['x-api-key'])).toEqual([KEY]);
      expect(await connections(project, ran.runId)).toMatchObject([{ via: 'broker', verdict: 'allowed' }]);
      const holders = readdirSync(project.root, { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => readFileSync(path).includes(KEY));
      expect(holders).toEqual([]);
    },
  );
});
