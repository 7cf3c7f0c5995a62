/** Residents that cannot work, with the built program: what the commands say, and that they go on afterwards. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { descendants } from '@caisson/ground';
import type { ResidentView, ThreadRow } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { openLedger } from '../../packages/engine/src/ledger/index.ts';
import { serve } from '../faults/killed-daemons.ts';
import { createProject, until, type Project } from './project.ts';

const LIMIT_MS = 120_000;
const FLOW = 'workflows: { fix: { file: fix.ts } }\n';
const fixThat = (role: string): string =>
  `export default { route: ({ messages }) => (messages.length === 0 ? 'role' : null), roles: { ${role} } };`;

const list = async <T>(project: Project, ...words: string[]): Promise<T[]> =>
  JSON.parse((await project.caisson(...words, '-o', 'json')).stdout) as T[];

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // it has ended
  }
};

const untilStatus = (project: Project, status: string): Promise<unknown> =>
  until(
    `the thread is ${status}`,
    async () => (await list<ThreadRow>(project, 'threads', 'list'))[0]?.status === status,
    60_000,
  );

it(
  'a thread whose file cannot be loaded waits, says for what, and goes on when the file is corrected',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject({ config: FLOW });
    project.write('fix.ts', 'export default {');
    await serve(project);
    await project.caisson('workflows', 'trigger', 'fix');
    await until('its file is refused', async () => {
      const [key] = await list<ResidentView>(project, 'residents', 'list');
      return key?.state === 'unloadable';
    });
    const refused = await project.caisson('threads', 'resume', 'latest');
    expect(refused.stderr).toContain('when the file of the workflow can be loaded');
    project.write('fix.ts', fixThat(`role: ({ ask }) => ask('which?')`));
    await untilStatus(project, 'waiting');
    const [thread] = await list<ThreadRow>(project, 'threads', 'list');
    const answered = await project.caisson('answer', thread?.threadId.slice(-8) ?? '', 'this');
    expect([answered.code, answered.stdout]).toEqual([
      0,
      expect.stringContaining(`${thread?.threadId} goes on`),
    ]);
    await untilStatus(project, 'done');
  },
);

it('a restart of a blocked resident is refused with what helps', { timeout: LIMIT_MS }, async () => {
  const project = createProject({ config: FLOW });
  project.write('fix.ts', fixThat('role: () => 1'));
  await serve(project);
  await project.caisson('down', '--now');
  const ledger = openLedger(join(project.root, '.caisson/ledger.db'));
  ledger.kv.set('resident-blocked', 'workflow.fix', 'it crashed');
  await ledger.close();
  await serve(project);
  const refused = await project.caisson('residents', 'restart', 'fix');
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('caisson residents reset workflow.fix'),
  ]);
});

it(
  'reloads at the same time open the residents once, and a stop leaves nothing',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject({ config: 'mode: auto-edit\n' });
    const daemon = await serve(project);
    project.write('look.ts', 'export default { compute() {} };');
    project.write('caisson.yaml', 'mode: auto-edit\nsenses: { look: { file: look.ts, interval: 1s } }\n');
    await project.trust();
    const reloads = await Promise.all([1, 2, 3].map(() => project.caisson('reload')));
    expect(reloads.map(({ code }) => code)).toEqual([0, 0, 0]);
    const residents = () => descendants(daemon).filter(({ pid }) => commandOf(pid).includes('resident.mjs'));
    await until('the sense has a worker', () => residents().length > 0);
    const [view] = await list<ResidentView>(project, 'residents', 'list');
    expect(residents().map((each) => each.pid)).toEqual([view?.pid]);
    expect((await project.caisson('down', '--now')).code).toBe(0);
    expect(residents()).toEqual([]);
  },
);

it(
  'a run that a role asks for while the daemon ends is left to the next one',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject({ config: FLOW });
    project.write(
      'fix.ts',
      `import { existsSync, writeFileSync } from 'node:fs';
      ${fixThat(`async role({ dispatch, projectRoot }) {
        while (!existsSync(projectRoot + '/go')) await new Promise((resolve) => setTimeout(resolve, 20));
        return (await dispatch({ task: 'fix it' })).status;
      }`)}`,
    );
    await serve(project);
    await project.caisson('workflows', 'trigger', 'fix');
    await until('its role works', async () => {
      const [key] = await list<ResidentView>(project, 'residents', 'list');
      return key?.state === 'ready' && key.underWay === 1;
    });
    const down = project.caisson('down');
    await until('the daemon ends', async () => {
      const { stdout } = await project.caisson('status', '-o', 'json');
      return !stdout.includes('"serving"');
    });
    project.write('go', '');
    expect((await down).code).toBe(0);
    const ledger = openLedger(join(project.root, '.caisson/ledger.db'));
    expect(ledger.runs()).toEqual([]);
    expect(ledger.threads()).toMatchObject([{ status: 'waiting', waitsFor: [{ kind: 'dispatch' }] }]);
    await ledger.close();
  },
);

it(
  'residents that could not be opened refuse what they are asked for, until a reload opens them',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject({ config: `senses: { look: { file: look.ts, interval: 1h } }\n${FLOW}` });
    project.write('look.ts', `export default { compute: ({ emit }) => emit('seen') };`);
    project.write('fix.ts', fixThat(`role: () => 'made'`));
    await serve(project); // its state folder is made
    await project.caisson('down');
    // The row of what a dead daemon left cannot be read.
    const inLedger = (sql: string): void => {
      const db = new DatabaseSync(join(project.root, '.caisson', 'ledger.db'), { timeout: 10_000 });
      db.exec(sql);
      db.close();
    };
    inLedger(`INSERT INTO kv VALUES ('residents', 'res_00000000000000000001', '{')`);
    await serve(project);
    for (const words of [
      ['senses', 'trigger', 'look'],
      ['residents', 'reset', 'look'],
      ['residents', 'drain', 'look'],
      ['residents', 'restart', 'look'],
      ['workflows', 'trigger', 'fix'],
    ]) {
      const { code, stdout, stderr } = await project.caisson(...words);
      expect([words, code === 0, stdout, stderr]).toEqual([
        words,
        false,
        '',
        expect.stringContaining('do not work'),
      ]);
      expect(stderr).toContain('caisson reload');
    }
    inLedger(`DELETE FROM kv WHERE key = 'res_00000000000000000001'`);
    expect((await project.caisson('reload')).code).toBe(0);
    expect((await project.caisson('senses', 'trigger', 'look')).stdout).toContain('seen');
    const words = async (kind: string) => (await project.caisson('completion', '--words', kind)).stdout;
    expect(await words('senses')).toBe('look\n');
    expect(await words('workflows')).toBe('fix\n');
    expect(await words('residents')).toBe('senses.look\nworkflow.fix\n');
  },
);
