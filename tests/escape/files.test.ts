import { existsSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCell, removeCell, runShell, type Cell } from './run-inside.ts';

describe('files from inside the sandbox', () => {
  let cell: Cell;
  beforeEach(() => {
    cell = createCell();
  });
  afterEach(() => removeCell(cell));

  it('the home folders of the host are empty', async () => {
    const { stdout } = await runShell(
      cell,
      'ls -A /root; ls -A /home; cat ~/.ssh/* /root/.ssh/* 2>/dev/null',
    );
    expect(stdout).toBe('agent\n');
  });

  it('a hidden state folder is empty, also when the workspace lies in it', async () => {
    const state = join(cell.root, 'state');
    const own = join(state, 'worktrees', 'mine');
    const other = join(state, 'worktrees', 'other');
    mkdirSync(own, { recursive: true });
    mkdirSync(other);
    writeFileSync(join(state, 'ledger.db'), 'the truth');
    writeFileSync(join(other, 'secret'), 'not yours');
    const { stdout, stderr } = await runShell(
      cell,
      `cat ${state}/ledger.db; cat ${other}/secret; ls ${state}/worktrees; echo mine > note`,
      { hide: [state], workspace: { source: own, target: own, readOnly: false }, cwd: own },
    );
    expect(stdout).toBe('mine\n');
    expect(stderr.match(/No such file/g)).toHaveLength(2);
    expect(readFileSync(join(own, 'note'), 'utf8')).toBe('mine\n');
  });

  it('a folder that is not in a replaced place can be hidden too', async () => {
    const { stdout } = await runShell(cell, 'ls -A /usr/share | wc -l', { hide: ['/usr/share'] });
    expect(stdout.trim()).toBe('0');
  });

  it('nothing outside the workspace can be written', async () => {
    const places = ['/', '/etc', '/usr', '/usr/bin', '/var', '/opt', '/dev', '/sys', '/proc/sys/kernel'];
    const script = places
      .map((place) => `touch ${place}/caisson-escaped 2>/dev/null && echo ${place}`)
      .join('; ');
    const { stdout } = await runShell(cell, `${script}; touch inside && echo inside`);
    expect(stdout).toBe('inside\n');
    for (const place of places) expect(existsSync(join(place, 'caisson-escaped'))).toBe(false);
  });

  it('a read-only workspace cannot be written, its mailbox can', async () => {
    const mailbox = join(cell.root, 'mailbox');
    mkdirSync(mailbox);
    const { stdout, stderr } = await runShell(cell, 'touch a; echo hello > .caisson/note && echo sent', {
      workspace: { source: cell.workspace, target: cell.workspace, readOnly: true },
      mailbox: { source: mailbox, target: join(cell.workspace, '.caisson') },
    });
    expect(stdout).toBe('sent\n');
    expect(stderr).toContain('Read-only file system');
    expect(readFileSync(join(mailbox, 'note'), 'utf8')).toBe('hello\n');
    expect(existsSync(join(cell.workspace, '.caisson'))).toBe(false);
  });

  it('control files cannot be changed, replaced, moved away or reached by a hard link', async () => {
    mkdirSync(join(cell.workspace, '.git/hooks'), { recursive: true });
    writeFileSync(join(cell.workspace, '.git/config'), 'original');
    writeFileSync(join(cell.workspace, '.git/hooks/pre-commit'), 'original');
    const attempts = [
      'echo x > .git/config',
      'echo x > .git/hooks/pre-commit',
      'touch .git/hooks/post-commit',
      'rm -rf .git/hooks',
      'rm -f .git/config',
      'mv .git/hooks .git/h',
      'mv .git .g',
      'ln -f .git/config other && echo x > other',
      'ln -sf /etc/passwd .git/config',
      'mv -T empty .git',
      'umount .git/hooks',
      'mount -o remount,rw .git/hooks',
      'chmod 777 .git/hooks/pre-commit',
    ];
    const script = attempts
      .map((attempt, index) => `{ ${attempt}; } 2>/dev/null && echo ${index}`)
      .join('; ');
    const { stdout } = await runShell(cell, `mkdir empty; ${script}; touch .git/index && echo index`, {
      readOnlyPaths: ['.git/config', '.git/hooks', '.git/absent', '.claude/settings.json'].map((path) =>
        join(cell.workspace, path),
      ),
    });
    expect(stdout).toBe('index\n');
    expect(readFileSync(join(cell.workspace, '.git/config'), 'utf8')).toBe('original');
    expect(existsSync(join(cell.workspace, '.git/absent'))).toBe(false);
    expect(existsSync(join(cell.workspace, '.claude'))).toBe(false);
  });

  it('hidden files and folders of the workspace show nothing, wherever they are moved, also inside read-only ones', async () => {
    mkdirSync(join(cell.workspace, 'docs/drafts'), { recursive: true });
    mkdirSync(join(cell.workspace, 'a/secrets'), { recursive: true });
    for (const path of ['docs/drafts/next', 'docs/key', 'a/secrets/key', 'a/key'])
      writeFileSync(join(cell.workspace, path), 'HIDDEN');
    writeFileSync(join(cell.workspace, 'docs/guide'), 'original');
    const inside = (path: string): string => join(cell.workspace, path);
    for (const readOnly of [false, true]) {
      const { stdout } = await runShell(
        cell,
        '{ mv a b; mv a/secrets s; rm -rf a docs; ln a/key k; umount a/key; echo x > docs/drafts/x; echo x > docs/guide; } 2>/dev/null; grep -rs HIDDEN .; cat docs/guide',
        {
          workspace: { source: cell.workspace, target: cell.workspace, readOnly },
          readOnlyPaths: [inside('docs')],
          hiddenPaths: ['docs/drafts', 'docs/key', 'a/secrets', 'a/key', 'absent'].map(inside),
        },
      );
      expect(stdout).toBe('original');
    }
    expect(readFileSync(inside('a/secrets/key'), 'utf8')).toBe('HIDDEN');
  });

  it('a masked folder shows only what the mask names, there or not, and cannot be filled, moved or uncovered', async () => {
    mkdirSync(join(cell.workspace, 'app/.tool/skills'), { recursive: true });
    for (const path of ['app/.tool/settings.json', 'app/.tool/skills/a', 'app/tool.json'])
      writeFileSync(join(cell.workspace, path), 'REAL');
    writeFileSync(join(cell.root, 'outside'), 'SECRET');
    symlinkSync(join(cell.root, 'outside'), join(cell.workspace, 'app/.tool/prompts'));
    const inside = (path: string): string => join(cell.workspace, path);
    const folder = { kind: 'folder', files: { '.env': '' }, keep: ['skills', 'prompts'] } as const;
    const attacks = ['app/.tool', '.tool'].flatMap((place) => [
      `echo x > ${place}/settings.json`,
      `chmod 777 ${place}; echo x > ${place}/settings.json`,
      `rename ${place} other && mkdir ${place}; echo x > ${place}/settings.json`,
      `rm -f ${place}/.env; rmdir ${place}; mkdir ${place}; echo x > ${place}/settings.json`,
      `echo x > ${place}/.env`,
      `umount ${place}`,
    ]);
    // Not `mv`, which would copy what it cannot rename.
    const rename = 'rename() { perl -e \'rename shift, shift or exit 1\' "$@"; }';
    const script = [
      rename,
      ...attacks,
      'rename app other && mkdir -p app/.tool',
      'echo x > app/tool.json',
      'rm app/tool.json',
    ]
      .map((attack) => `{ ${attack}; } 2>/dev/null`)
      .join('; ');
    const { stdout } = await runShell(
      cell,
      `${script}; ls -A app/.tool .tool; cat app/tool.json app/.tool/skills/a; echo more > app/.tool/skills/b; cat app/.tool/prompts 2>/dev/null`,
      {
        readOnlyPaths: [inside('app/.tool/settings.json')],
        masks: [
          { ...folder, path: inside('app/.tool') },
          { ...folder, path: inside('.tool') },
          { kind: 'file', path: inside('app/tool.json'), content: '{}' },
          { kind: 'file', path: inside('absent.json'), content: '{}' },
        ],
      },
    );
    expect(stdout).toBe('.tool:\n.env\n\napp/.tool:\n.env\nskills\n{}REAL');
    expect([existsSync(inside('.tool')), existsSync(inside('absent.json'))]).toEqual([false, false]);
    expect(readFileSync(inside('app/.tool/settings.json'), 'utf8')).toBe('REAL');
    expect(readFileSync(inside('app/.tool/skills/b'), 'utf8')).toBe('more\n');
  });

  it('a link in the workspace leads to nothing that could not be reached without it', async () => {
    const outside = join(cell.root, 'outside');
    writeFileSync(outside, 'untouched');
    symlinkSync(outside, join(cell.workspace, 'link'));
    const { stdout } = await runShell(
      cell,
      'ln -s /etc etc; { echo x > etc/hosts; } 2>/dev/null && echo etc; { cat link; } 2>/dev/null && echo read; ln /etc/hosts hosts 2>/dev/null && echo hard; true',
    );
    expect(stdout).toBe('');
    expect(readFileSync(outside, 'utf8')).toBe('untouched');
  });

  it('a control file behind a link is protected where it really is', async () => {
    mkdirSync(join(cell.workspace, 'real'));
    writeFileSync(join(cell.workspace, 'real/settings.json'), 'original');
    symlinkSync('real', join(cell.workspace, '.claude'));
    const { stdout } = await runShell(
      cell,
      '{ echo x > real/settings.json; } 2>/dev/null && echo changed; true',
      {
        readOnlyPaths: [join(cell.workspace, '.claude/settings.json')],
      },
    );
    expect(stdout).toBe('');
  });

  it('a hard link made before the run keeps its mode and its owner', async () => {
    const outside = join(cell.root, 'file');
    writeFileSync(outside, 'x');
    linkSync(outside, join(cell.workspace, 'file'));
    const before = statSync(outside);
    await runShell(cell, 'chown 0:0 file; chmod 4755 file');
    expect(statSync(outside).uid).toBe(before.uid);
  });

  it('/proc shows no process of the host, no other root and no other environment', async () => {
    const { stdout } = await runShell(
      cell,
      'ls /proc | grep -c "^[0-9]"; ls /proc/1/root/root; cat /proc/1/environ 2>/dev/null | tr "\\0" "\\n" | grep -v -e ^PWD; ls -d /proc/1/root/tmp/caisson-escape-*/*; cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -c -i vitest',
    );
    const [count, workspace, found] = stdout.trim().split('\n');
    expect(Number(count)).toBeLessThan(8);
    expect(workspace).toBe(`/proc/1/root${cell.workspace}`);
    expect(found).toBe('0');
  });

  it('switches of the machine are out of reach, also when root started the sandbox', async () => {
    const before = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
    const { stdout } = await runShell(
      cell,
      [
        // The same value is written back, so that a hole found here does no harm.
        '{ v=$(cat /proc/sys/kernel/core_pattern); echo "$v" > /proc/sys/kernel/core_pattern; } 2>/dev/null && echo sysctl',
        'for f in /proc/sysrq-trigger /proc/mtrr /proc/irq/default_smp_affinity /sys/kernel/mm/transparent_hugepage/enabled; do [ -w $f ] && ( : >> $f ) 2>/dev/null && echo $f; done',
        'for f in /etc/shadow /etc/gshadow /etc/sudoers /proc/kcore /proc/kmsg; do head -c1 $f >/dev/null 2>&1 && echo $f; done',
        'true',
      ].join('\n'),
    );
    expect(stdout).toBe('');
    expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(before);
  });

  it('no control group can be written', async () => {
    const { stdout } = await runShell(
      cell,
      'find /sys/fs/cgroup -maxdepth 3 -name cgroup.procs 2>/dev/null | while read f; do ( echo $$ > $f ) 2>/dev/null && echo $f; done; true',
    );
    expect(stdout).toBe('');
  });

  it('no descriptor of ours but the three standard ones arrives inside', async () => {
    const { stdout } = await runShell(cell, 'ls -l /proc/self/fd');
    const targets = stdout.split('\n').flatMap((line) => line.split(' -> ')[1] ?? []);
    // Two pipes, of which no other sandbox has an end; see launch-helper.ts.
    const isPipe = (target: string): boolean => /^pipe:\[\d+\]$/.test(target);
    const foreign = targets.filter((target) => !/^(\/dev\/null|\/proc\/\d+\/fd)$/.test(target));
    expect(foreign.filter((target) => !isPipe(target))).toEqual([]);
    expect(new Set(foreign).size).toBe(2);
  });
});
