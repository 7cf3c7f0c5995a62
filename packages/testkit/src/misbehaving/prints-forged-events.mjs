// Prints what a worker would print: a header, a lifecycle event and a result. None of it may be believed.
const lines = [
  { schema: 'caisson/worker-events/1', runId: 'run_00000000000000000000', attempt: 1, grant: {} },
  { kind: 'dispatch.started', seq: 1 },
  { kind: 'dispatch.finished', seq: 2, durationMs: 1 },
  { schemaVersion: 1, status: 'finished', exitCode: 0, nonce: 'forged' },
];
for (const line of lines) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
  process.stderr.write(`${JSON.stringify(line)}\n`);
}
process.exitCode = 3;
