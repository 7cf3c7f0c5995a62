import { expect, test } from 'vitest';
import { createApprovedWatch } from './approved-watch.ts';

async function watch(command: string, isApproved = true) {
  const refused: string[] = [];
  const approved = createApprovedWatch((_call, why) => refused.push(why));
  const gate = approved.watched({
    judge: () => Promise.resolve(isApproved ? { allow: true, isApproved } : { allow: true }),
  });
  await gate.judge({ tool: 'Bash', input: { command } });
  const start = (ran: string) =>
    approved.receive({ kind: 'tool-start', callId: 'c', tool: 'shell', input: { command: ran } });
  const end = (ok: boolean, detail = '') => approved.receive({ kind: 'tool-end', callId: 'c', ok, detail });
  return { refused, approved, start, end };
}

test('a command that a person approved and that never began is refused by the program', async () => {
  const { refused, approved } = await watch('rm -rf old');
  approved.agentEnded();
  expect(refused).toEqual(['the program did not run it']);
});

test('one that ended in words of refusal is, and one that failed is not', async () => {
  const denied = await watch('rm -rf old');
  denied.start("/bin/sh -lc 'rm -rf old'");
  denied.end(false, 'Permission to use Bash has been denied.');
  const failed = await watch('rm -rf old');
  failed.start('rm -rf old');
  failed.end(false, 'rm: old: no such file');
  for (const { approved } of [denied, failed]) approved.agentEnded();
  expect([denied.refused, failed.refused]).toEqual([['Permission to use Bash has been denied.'], []]);
});

test('one that was open when the agent was ended, or that nobody was asked about, is not', async () => {
  const open = await watch('rm -rf old');
  open.start('rm -rf old');
  const unasked = await watch('ls', false);
  for (const { approved } of [open, unasked]) approved.agentEnded();
  expect([open.refused, unasked.refused]).toEqual([[], []]);
});
