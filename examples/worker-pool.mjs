// A pool of workers: each task gets its own sandbox and branch, and ends in a checked hand-off.
//   node examples/worker-pool.mjs [FOLDER]
import { WorkerPool } from 'caisson';

// A real pool names its agent: request: { runtime: 'codex' }, and its model in llm.
const script = `
  echo "for $CAISSON_RUN_ID" > greeting.txt
  echo '{"status":"complete","summary":"The greeting is written."}' > .caisson/handoff.json`;

const pool = new WorkerPool({
  cwd: process.argv[2] ?? process.cwd(),
  maxWorkers: 2,
  workerTimeout: 60,
  request: { runtime: 'command', argv: ['sh', '-c', script] },
});
pool.onWorkerFailed((taskId, error) => console.error(`${taskId}: ${error.message}`));

await pool.start();
const { workers, by } = pool.getLimit();
console.log(`at most ${workers} at once, by ${by}`);
try {
  const tasks = ['task-001', 'task-002', 'task-003'].map((id) => ({
    id,
    description: 'Write a greeting',
    scope: ['greeting.txt'],
  }));
  for (const handoff of await Promise.all(tasks.map((task) => pool.assignTask(task)))) {
    const { taskId, status, branch, metrics } = handoff;
    console.log(`${taskId} ${status} on ${branch}: +${metrics.linesAdded} lines`);
  }
} finally {
  await pool.stop();
}
