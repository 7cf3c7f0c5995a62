/** The record says who decided what was done; a decision about nothing is refused, and in no record. */
import { expect, it } from 'vitest';
import { serve, untilStatus } from '../faults/killed-daemons.ts';
import { createProject, type Project } from './project.ts';

const actsOf = async (project: Project, runId: string): Promise<unknown[]> =>
  (await project.events(runId))
    .filter(({ type }) => type === 'visitor.acted')
    .map(({ operation }) => operation);

it(
  'an apply without a patch and a cancel of an ended run are not recorded',
  { timeout: 90_000 },
  async () => {
    const project = createProject();
    await serve(project);
    const { stdout } = await project.caisson('run', '--detach', '--', 'sleep', '600');
    const runId = stdout.trim();
    for (const where of [[], ['--no-daemon']]) {
      const { code, stderr } = await project.caisson('apply', runId, ...where);
      expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('there is no patch yet')]);
    }
    expect(await actsOf(project, runId)).not.toContain('apply');
    await project.caisson('cancel', runId);
    await untilStatus(project, runId, 'cancelled');
    for (const where of [[], ['--no-daemon']])
      expect((await project.caisson('cancel', runId, ...where)).stdout).toContain('has already ended');
    expect((await actsOf(project, runId)).filter((act) => act === 'cancel')).toEqual(['cancel']);
  },
);
