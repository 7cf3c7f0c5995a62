/** What caisson doctor says of senses and workflows, without a daemon and with one. */
import { expect, it } from 'vitest';
import { serve } from '../faults/killed-daemons.ts';
import { createProject, type Project } from './project.ts';
import { readJson, senseOf, untilResident, workflowOf } from './resident-project.ts';

interface Report {
  readonly probes: readonly { readonly id: string; readonly verdict: string; readonly findings?: string[] }[];
}

async function examine(project: Project): Promise<Report['probes'][number] | undefined> {
  const { probes } = await readJson<Report>(project, 'doctor', '--quick');
  return probes.find(({ id }) => id === 'residents');
}

const CONFIG = `senses:
  tests: { file: tests.mts, interval: 1h }
  gone: { file: gone.mts, interval: 1h }
workflows:
  fix: { file: fix.mts, on: [redd] }
`;

it(
  'the doctor names files of residents that are missing or broken, and a mistyped signal',
  { timeout: 120_000 },
  async () => {
    const project = createProject({ config: CONFIG });
    project.write('tests.mts', senseOf(`emit('red');`));
    project.write('fix.mts', workflowOf({ fix: `return 1;` }));
    await project.caisson('trust', '--yes');
    const known = [
      'gone (senses.gone): there is no file gone.mts',
      'workflows.fix waits for "redd", which no file of a sense names. Did you mean "red"?',
    ];
    expect(await examine(project)).toMatchObject({ verdict: 'warn', findings: known });
    project.write('tests.mts', 'export default {};\n');
    await serve(project);
    await project.caisson('senses', 'trigger', 'tests');
    await untilResident(project, 'senses.tests', ({ problems }) => problems?.['tests'] !== undefined);
    expect(await examine(project)).toMatchObject({
      findings: [
        known[0],
        expect.stringMatching(/^tests \(senses\.tests\) does not load: its default export is no sense/),
      ],
    });
  },
);

it('residents with nothing wrong are one line that is ok', { timeout: 120_000 }, async () => {
  const project = createProject({ config: CONFIG.replace(/^ {2}gone.*\n/m, '').replace('redd', 'red') });
  project.write('tests.mts', senseOf(`emit('red');`));
  project.write('fix.mts', workflowOf({ fix: `return 1;` }));
  await project.caisson('trust', '--yes');
  expect(await examine(project)).toMatchObject({ verdict: 'ok' });
});
