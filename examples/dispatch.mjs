// The library: dispatch a task, follow its events, read its result.
//   node examples/dispatch.mjs [FOLDER]
import { createCaisson } from 'caisson';

const caisson = await createCaisson({ cwd: process.argv[2] ?? process.cwd() });
try {
  const run = await caisson.dispatch({
    runtime: 'command',
    argv: ['sh', '-c', 'echo "made in a sandbox" > made.txt; echo done'],
    timeoutMs: 60_000,
  });
  for await (const event of run.events()) {
    if (event.seq > 0) console.log(`${event.seq} ${event.type}`);
  }
  const result = await run.ended;
  console.log(`${result.status}: ${result.reply}`);
  console.log((await caisson.patch(run.runId)).toString());
  const verification = await caisson.verify(run.runId);
  console.log(`evidence: ${verification.outcome}`);
} finally {
  await caisson.close();
}
