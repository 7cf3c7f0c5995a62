import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SandboxSpec } from '@caisson/ground';

import { openAnonymousFile } from '../../packages/ground/src/sandbox/anonymous-file.ts';
import { buildArguments } from '../../packages/ground/src/sandbox/bwrap-arguments.ts';
import { planMounts } from '../../packages/ground/src/sandbox/mount-plan.ts';
import { buildSeccompProgram } from '../../packages/ground/src/sandbox/seccomp.ts';
import { listSystemView } from '../../packages/ground/src/sandbox/system-view.ts';
import type { Scratch } from './scratch.ts';

export const BARE_NODE: readonly string[] = [process.execPath, '-e', '0'];

/** bubblewrap with the flags of our own sandbox, filter included; no gate, no cgroup, no witness. */
export async function startInBwrap(scratch: Scratch): Promise<void> {
  const spec = peerSpec(scratch);
  const attached: number[] = [];
  const attach = (content: string | Buffer | number): number =>
    2 + attached.push(typeof content === 'number' ? content : openAnonymousFile(content));
  const view = listSystemView();
  const words = [
    ...['--seccomp', String(attach(buildSeccompProgram()))],
    ...buildArguments(spec, planMounts(spec, new Set(), view), view, attach),
  ];
  const child = spawn('bwrap', [...words, '--', ...spec.argv], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe', ...attached],
  });
  for (const fd of attached) closeSync(fd);
  child.stdout?.resume();
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`bwrap ended with ${code}: ${stderr}`);
}

function peerSpec({ project }: Scratch): SandboxSpec {
  const node = dirname(process.execPath);
  return {
    kind: 'bwrap',
    argv: [...BARE_NODE],
    env: { PATH: '/usr/bin:/bin', HOME: '/home/agent', TMPDIR: '/tmp' },
    cwd: project,
    workspace: { source: project, target: project, readOnly: false },
    binds: [{ source: node, target: node, writable: false }],
    hide: [],
    readOnlyPaths: [],
    home: { path: '/home/agent', maxBytes: 2 ** 26 },
    tmp: { path: '/tmp', maxBytes: 2 ** 26 },
    files: [],
    network: 'none',
    seccomp: true,
    cgroupPaths: [],
    stdin: 'closed',
  };
}
