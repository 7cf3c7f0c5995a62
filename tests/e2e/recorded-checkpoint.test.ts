import { expect, it } from 'vitest';
import { CheckpointRef } from '@caisson/protocol';
import { createProject } from './project.ts';

it('an ending records of its checkpoint what is declared, and no more', async () => {
  const project = createProject();
  const ran = await project.run('--', 'sh', '-c', 'echo made > made.txt');
  const ending = (await project.events(ran.runId)).find(({ type }) => type === 'dispatch.finished');
  expect(ending?.['checkpoint']).toEqual(CheckpointRef.parse(ending?.['checkpoint']));
});
