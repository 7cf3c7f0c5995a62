// Agents that wait for a model that says nothing, each in a worktree.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { CLI } from '../agents/scene.ts';
import type { Scratch } from '../dispatch/scratch.ts';

const PROGRAM = fileURLToPath(new URL('waiting-agent.mjs', import.meta.url));

interface SilentModel {
  readonly url: string;
  /** Resolves when so many requests wait for an answer. */
  hasAsked(times: number): Promise<void>;
  stop(): void;
}

export async function startSilentModel(): Promise<SilentModel> {
  let asked = 0;
  let noticed = Promise.withResolvers<void>();
  const server = createServer(() => {
    asked += 1;
    noticed.resolve();
  });
  server.requestTimeout = 0;
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async hasAsked(times) {
      for (; asked < times; noticed = Promise.withResolvers()) await noticed.promise;
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A repository with a runtime `waiting`, which its user trusts. */
export function prepareAgents({ root, project, env }: Scratch, url: string): void {
  const program = join(project, 'waiting-agent.mjs');
  copyFileSync(PROGRAM, program);
  chmodSync(program, 0o755);
  writeFileSync(join(root, 'key'), 'sk-bench-0123456789abcdef0123', { mode: 0o600 });
  const variables = '{ MODEL_URL: "{endpoint}", MODEL_KEY: "{key}" }';
  const settings = `{ protocol: acp, api: anthropic-messages, env: ${variables} }`;
  const place = `bin: ./waiting-agent.mjs, endpoint: "${url}", apiKey: "file:${join(root, 'key')}", model: "none"`;
  writeFileSync(join(project, 'caisson.yaml'), `runtimes:\n  waiting: { ${place}, settings: ${settings} }\n`);
  const git = ['-c', 'user.name=B', '-c', 'user.email=b@example.invalid'];
  const how = { cwd: project, env, stdio: 'ignore' } as const;
  execFileSync('git', ['init', '-q', '-b', 'main'], how);
  execFileSync('git', ['add', 'caisson.yaml', 'waiting-agent.mjs'], how);
  execFileSync('git', [...git, 'commit', '-qm', 'first'], how);
  execFileSync(process.execPath, [CLI, 'trust', '--yes', '--send-key', url], how);
}
