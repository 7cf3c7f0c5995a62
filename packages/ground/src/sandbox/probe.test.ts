import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { probeSandbox, SandboxUnavailableError } from './index.ts';

describe('a machine that cannot build the sandbox', () => {
  it('gets the advice to install bubblewrap when it is missing', async () => {
    expect(await probeSandbox('/nowhere/bwrap')).toEqual({
      ok: false,
      reason: expect.stringContaining('not installed'),
      remedy: expect.stringContaining('bubblewrap'),
    });
  });

  it('gets the advice to allow user namespaces when there can be none', () => {
    const probe = JSON.parse(withoutUserNamespaces('console.log(JSON.stringify(await probeSandbox()))'));
    expect(probe).toEqual({
      ok: false,
      reason: expect.stringContaining('user namespaces are not available'),
      remedy: expect.stringContaining('user.max_user_namespaces'),
    });
  });

  it('gets an error with the same remedy from a launch, never a weaker sandbox', () => {
    const program = `
      const error = await launchSandbox(JSON.parse(process.env.SPEC)).catch((thrown) => thrown);
      console.log(JSON.stringify({ code: error.code, remedy: error.remedy }));`;
    const error = JSON.parse(withoutUserNamespaces(program));
    expect(error).toEqual({
      code: new SandboxUnavailableError('').code,
      remedy: expect.stringContaining('user.max_user_namespaces'),
    });
  });

  it('can build it here', async () => {
    expect(await probeSandbox()).toEqual({ ok: true, bwrapPath: expect.stringContaining('bwrap') });
  });
});

/** Runs a program in a user namespace of its own in which no further one may be made; the machine is not touched. */
function withoutUserNamespaces(program: string): string {
  const source = `import { launchSandbox, probeSandbox } from '${import.meta.dirname}/index.ts';${program}`;
  const spec = {
    kind: 'bwrap',
    argv: ['true'],
    env: {},
    cwd: '/',
    workspace: null,
    binds: [],
    hide: [],
    readOnlyPaths: [],
    files: [],
    home: { path: '/home/agent', maxBytes: 1024 },
    tmp: { path: '/tmp', maxBytes: 1024 },
    network: 'none',
    seccomp: true,
    cgroupPaths: [],
    stdin: 'closed',
  };
  return execFileSync(
    'unshare',
    [
      '-Ur',
      'sh',
      '-c',
      'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" --input-type=module-typescript -e "$1"',
      process.execPath,
      source,
    ],
    { encoding: 'utf8', env: { PATH: '/usr/bin:/bin', SPEC: JSON.stringify(spec) } },
  );
}
