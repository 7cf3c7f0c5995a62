import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSampleSpec } from './fixtures/sample-spec.ts';
import {
  describeSandbox,
  launchSandbox,
  SandboxSpecError,
  SandboxStartError,
  type SandboxProcess,
  type SandboxSpec,
} from './index.ts';

describe('a sandbox', () => {
  let root: string;
  let spec: SandboxSpec;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'caisson-launch-'));
    const workspace = join(root, 'workspace');
    mkdirSync(workspace);
    spec = createSampleSpec(workspace);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  async function run(
    overrides: Partial<SandboxSpec>,
  ): Promise<{ stdout: string; stderr: string; code: number | null }> {
    const running = await launchSandbox({ ...spec, ...overrides });
    const [stdout, stderr, exit] = await Promise.all([
      text(running.stdout),
      text(running.stderr),
      running.exited,
    ]);
    return { stdout, stderr, code: exit.code };
  }

  it('passes output, errors and the exit code on', async () => {
    expect(await run({ argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'] })).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      code: 3,
    });
  });

  it('gives a file as stdout that nobody inside can empty', async () => {
    const script = 'echo one; (: >/dev/stdout) 2>/dev/null || echo kept; echo two';
    const { stdout } = await launchSandbox({ ...spec, stdoutFolder: root, argv: ['sh', '-c', script] });
    expect(await text(stdout)).toBe('one\nkept\ntwo\n');
  });

  it('delivers every byte of a large output', async () => {
    const { stdout } = await run({ argv: ['perl', '-e', 'print "x" x 10_000_000'] });
    expect(stdout).toHaveLength(10_000_000);
  });

  it('gives the program exactly the environment of the spec, and keeps it out of every command line', async () => {
    const secret = 'value-4711';
    const running = await launchSandbox({
      ...spec,
      argv: ['sh', '-c', 'env; read x'],
      env: { PATH: '/usr/bin:/bin', ONE: secret },
      stdin: 'pipe',
    });
    const stdout = text(running.stdout);
    running.stderr.resume();
    for (const pid of [running.pid, running.initPid, running.agentPid()]) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(secret);
    }
    running.stdin?.end('\n');
    await running.exited;
    const names = (await stdout)
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(
      names
        .filter((name) => name !== 'PWD' && name !== 'SHLVL' && name !== '_')
        .toSorted((a = '', b = '') => a.localeCompare(b)),
    ).toEqual(['ONE', 'PATH']);
  });

  it('keeps the PATH of the spec in a login shell', async () => {
    const PATH = "/opt/it's here/bin:/usr/bin:/bin";
    const { stdout } = await run({ argv: ['sh', '-lc', 'echo "$PATH"'], env: { ...spec.env, PATH } });
    expect(stdout).toBe(`${PATH}\n`);
  });

  it('knows who it is', async () => {
    expect((await run({ argv: ['sh', '-c', 'whoami; id -u; id -g; hostname; cd ~ && pwd'] })).stdout).toBe(
      'caisson\n1000\n1000\ncaisson\n/home/agent\n',
    );
    expect((await run({ argv: ['id', '-u'], uid: 4242, gid: 4242 })).stdout).toBe('4242\n');
  });

  it('writes files that belong to the user who started it', async () => {
    const mode = 0o600;
    writeFileSync(join(root, 'workspace/private'), 'kept', { mode });
    expect((await run({ argv: ['sh', '-c', 'cat private; echo new > made'] })).stdout).toBe('kept');
    expect(statSync(join(root, 'workspace/made')).uid).toBe(process.geteuid?.());
  });

  it('shows the workspace at another place than where it is', async () => {
    const target = join(root, 'repo');
    mkdirSync(target);
    writeFileSync(join(target, 'original'), '');
    const { stdout } = await run({
      argv: ['sh', '-c', 'pwd; touch made; ls'],
      cwd: target,
      workspace: { source: join(root, 'workspace'), target, readOnly: false },
    });
    expect(stdout).toBe(`${target}\nmade\n`);
    expect(existsSync(join(target, 'made'))).toBe(false);
  });

  it('lays private files into HOME with their mode, and makes bound tools visible there', async () => {
    const tools = join(root, 'tools');
    mkdirSync(tools);
    writeFileSync(join(tools, 'tool'), '#!/bin/sh\necho tool\n', { mode: 0o755 });
    const { stdout } = await run({
      argv: [
        'sh',
        '-c',
        'cat ~/.agent/settings.json; stat -c %a ~/.agent/settings.json; ~/bin/tool; touch ~/bin/x 2>/dev/null || echo read-only',
      ],
      files: [{ path: '/home/agent/.agent/settings.json', content: '{}\n', mode: 0o600 }],
      binds: [{ source: tools, target: '/home/agent/bin', writable: false }],
    });
    expect(stdout).toBe('{}\n600\ntool\nread-only\n');
  });

  it('refuses to lay a private file onto the disk', async () => {
    const path = join(root, 'workspace/settings.json');
    await expect(run({ files: [{ path, content: '{}', mode: 0o600 }] })).rejects.toThrow(SandboxSpecError);
    expect(existsSync(path)).toBe(false);
  });

  it('shows a folder under the name that a link of the host gives it, too', async () => {
    mkdirSync(join(root, 'versions/v2/bin'), { recursive: true });
    writeFileSync(join(root, 'versions/v2/bin/tool'), '#!/bin/sh\necho ran\n', { mode: 0o755 });
    symlinkSync('versions/v2', join(root, 'current'));
    symlinkSync(join(root, 'current'), join(root, 'again'));
    const folder = join(root, 'again/bin');
    const binds = [{ source: folder, target: folder, writable: false }];
    const { stdout } = await run({ argv: ['sh', '-c', `${folder}/tool; ls ${root}`], binds });
    expect(stdout).toBe('ran\nagain\nversions\nworkspace\n');
  });

  it('refuses a mount point that it would have to create on the disk', async () => {
    const target = join(root, 'workspace/absent');
    await expect(run({ binds: [{ source: '/usr', target, writable: false }] })).rejects.toThrow(
      /does not exist/,
    );
    expect(existsSync(target)).toBe(false);
    await expect(run({ home: { path: '/usr/home-of-agent', maxBytes: 1024 } })).rejects.toThrow(
      SandboxSpecError,
    );
  });

  it('takes the mailbox mount point away only after the last sandbox that uses it', async () => {
    const mailbox = { source: join(root, 'mailbox'), target: join(root, 'workspace/.caisson') };
    mkdirSync(mailbox.source);
    const first = await launchSandbox({ ...spec, mailbox, argv: ['sleep', '60'] });
    expect((await run({ mailbox, argv: ['sh', '-c', 'echo hello > .caisson/note'] })).code).toBe(0);
    expect(existsSync(mailbox.target)).toBe(true);
    first.kill();
    await first.exited;
    expect(existsSync(mailbox.target)).toBe(false);
    expect(readFileSync(join(mailbox.source, 'note'), 'utf8')).toBe('hello\n');
  });

  it.each(['bwrap', 'none'] as const)(
    'interrupts a command that its shell waits for, as a terminal does, and no other process (%s)',
    async (kind) => {
      const script = 'setsid sh -c \'trap "echo not me" INT; echo up; sleep 2\' & sleep 600; echo after';
      const running = await launchSandbox({ ...spec, kind, argv: ['bash', '-c', script] });
      const printed = text(running.stdout);
      await once(running.stdout, 'data');
      expect(running.signalAgent('SIGINT')).toBe(true);
      expect(await running.exited).toMatchObject(kind === 'none' ? { signal: 'SIGINT' } : { code: 130 });
      expect(await printed).toBe('up\n');
    },
  );

  it.each(['bwrap', 'none'] as const)(
    'interrupts a command that its shell starts while it is being interrupted (%s)',
    async (kind) => {
      const script = "trap 'sleep 600; exit' INT; echo up; while :; do :; done";
      const running = await launchSandbox({ ...spec, kind, argv: ['bash', '-c', script] });
      await once(running.stdout, 'data');
      expect(running.signalAgent('SIGINT')).toBe(true);
      await running.exited;
    },
  );

  it.each(['bwrap', 'none'] as const)(
    'asks everyone but our own programs to stop, and waits for those that outlive the program (%s)',
    async (kind) => {
      const says = (word: string, last: string): string =>
        `$| = 1; $SIG{TERM} = sub { select(undef, undef, undef, 0.2); print "${word}\\n"; ${last} }; print "up\\n"; sleep 600 while 1;`;
      const own = join(root, 'workspace/own.pl');
      writeFileSync(own, says('ours', 'exit'));
      writeFileSync(join(root, 'workspace/tool.pl'), says('tool', 'exit'));
      const script = `perl ${own} & setsid perl tool.pl & trap 'exit 3' TERM; wait`;
      const running = await launchSandbox({
        ...spec,
        kind,
        argv: ['bash', '-c', script],
        ownPrograms: [own],
      });
      const printed = text(running.stdout);
      await saysUp(running, 2);
      expect(running.signalAgent('SIGTERM')).toBe(true);
      expect(await running.exited).toMatchObject({ code: 3 });
      expect(await printed).toBe('up\nup\ntool\n');
    },
  );

  it.each(['bwrap', 'none'] as const)(
    'reports how the program ended although another process inside had to be killed (%s)',
    async (kind) => {
      const script = `setsid bash -c 'trap "" TERM; echo up; sleep 600; :' & trap 'echo bye; exit 3' TERM; wait`;
      const running = await launchSandbox({ ...spec, kind, argv: ['bash', '-c', script] });
      await saysUp(running, 1);
      running.signalAgent('SIGTERM');
      await once(running.stdout, 'data');
      const isGone = (): boolean => running.agentPid() === null;
      while (!isGone()) await new Promise((resolve) => setImmediate(resolve));
      running.kill();
      expect(await running.exited).toMatchObject({ code: 3 });
    },
  );

  it('hands over extra descriptors: one of ours and a channel', async () => {
    const running = await launchSandbox({
      ...spec,
      argv: ['sh', '-c', 'read line <&4; echo "received $line" >&4; echo direct >&3'],
      extraFds: ['pipe', 'pipe'],
    });
    running.stdout.resume();
    running.stderr.resume();
    const [direct, channel] = running.channels;
    channel?.write('hello\n');
    expect(await Promise.all([text(direct!), text(channel!)])).toEqual(['direct\n', 'received hello\n']);
    expect((await running.exited).code).toBe(0);
  });

  it('rejects a program that is not there, and says what to do', async () => {
    const failure = run({ argv: ['no-such-program'] });
    await expect(failure).rejects.toThrow(SandboxStartError);
    await expect(failure).rejects.toMatchObject({
      message: expect.stringContaining('no-such-program'),
      remedy: expect.any(String),
    });
  });

  it('rejects when the working folder is not there inside', async () => {
    await expect(run({ cwd: '/home/agent/absent' })).rejects.toThrow(/chdir/);
  });

  it('rejects when its cgroup cannot be joined: it never runs outside of it', async () => {
    await expect(run({ cgroupPaths: [join(root, 'absent/cgroup.procs')] })).rejects.toThrow(
      /could not be joined/,
    );
  });

  it('describes what it enforces, and nothing more', () => {
    expect(describeSandbox(spec)).toEqual({
      kind: 'bwrap',
      namespaces: ['user', 'pid', 'mount', 'ipc', 'uts', 'cgroup', 'net'],
      seccomp: true,
      capabilities: 'none',
      noNewPrivileges: true,
      cgroup: false,
      uid: 1000,
      network: 'none',
      workspace: 'writable',
    });
    expect(describeSandbox({ ...spec, kind: 'none' })).toMatchObject({
      kind: 'none',
      namespaces: [],
      seccomp: false,
      network: 'host',
    });
  });
});

/** Resolves when as many processes as expected have said that they run. */
function saysUp(running: SandboxProcess, count: number): Promise<void> {
  return new Promise((resolve) => {
    let received = '';
    running.stdout.on('data', (chunk: Buffer) => {
      received += chunk.toString();
      if (received.split('up').length > count) resolve();
    });
  });
}
