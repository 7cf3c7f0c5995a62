/**
 * Many runs that are asked for at once, of which a few at a time have a place: each is carried out once, in the order in which
 * it was accepted, with its own output. The nightly size is `CAISSON_QUEUED_RUNS=300` (docs/guides/nightly.md).
 */
import { join } from 'node:path';
import { createCaisson } from 'caisson';
import { definedOnly } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { createProject } from '../e2e/project.ts';
import { openedLedger, serve } from './killed-daemons.ts';

const RUNS = Number(process.env['CAISSON_QUEUED_RUNS'] ?? 60);
const AT_ONCE = 4;

it(
  `${RUNS} runs that wait are carried out once each, in their order`,
  { timeout: 60_000 + RUNS * 2000 },
  async () => {
    const config = `limits: { concurrency: ${AT_ONCE} }\n`;
    const project = createProject({ config, env: definedOnly(process.env) }); // the same user as here
    await serve(project);
    const caisson = await createCaisson({ cwd: project.root, daemon: true });
    onTestFinished(() => caisson.close());
    const handles = [];
    for (let number = 0; number < RUNS; number += 1) {
      const argv = ['echo', String(number)];
      handles.push(await caisson.dispatch({ runtime: 'command', argv, workspace: 'empty' }));
    }
    const results = await Promise.all(handles.map(({ ended }) => ended));
    expect(results.map(({ status, stdout }) => `${status} ${stdout}`)).toEqual(
      results.map((_, number) => `done ${number}\n`),
    );
    const ledger = openedLedger(join(project.root, '.caisson'));
    const accepted = handles.map(({ runId }) => runId);
    const launched = ledger.read({ types: ['attempt.launched'], limit: 2 * RUNS }).map(({ runId }) => runId);
    expect(launched).toHaveLength(RUNS);
    expect(new Set(launched)).toEqual(new Set(accepted)); // once each
    const late = launched.map((runId, place) => place - accepted.indexOf(runId ?? ''));
    expect(Math.max(...late.map(Math.abs))).toBeLessThan(2 * AT_ONCE); // those that begin together may change places
    expect(await project.caisson('verify', '--all')).toMatchObject({ code: 0 });
  },
);
