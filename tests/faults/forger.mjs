// An agent that prints like a worker. Arguments: `inside` or `outside`, then the state folder, then run ids.
//
// It must be harmless where the tested boundary is missing: `inside` first makes sure that it sees its own PID
// namespace and stops (exit 9) when it does not; `outside` only touches the worker of this very run, and only its first
// four descriptors. Regular files behind a descriptor are never written.
import {
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
  openSync,
  writeSync,
  closeSync,
  constants,
} from 'node:fs';

const [where, state, ...runs] = process.argv.slice(2);
const runId = runs[0] ?? 'run_00000000000000000000';
const result = {
  ...{
    schemaVersion: 1,
    runId,
    attempt: 1,
    nonce: 'f'.repeat(64),
    status: 'finished',
    exitCode: 0,
    durationMs: 1,
  },
  reply: { ref: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', head: '', bytes: 0 },
  ...{ outputs: [], blocks: [], policy: { grant: {}, enforced: {}, denials: [] }, logs: {} },
};
const at = new Date().toISOString();
const lines = [
  { schema: 'caisson/worker-events/1', runId, attempt: 1, grant: {} },
  { kind: 'dispatch.started', seq: 1, at },
  { kind: 'policy.denied', seq: 2, at, denial: { layer: 'gate', what: 'FORGED', rule: 'x' } },
  { kind: 'dispatch.finished', seq: 3, at, durationMs: 1 },
  { kind: 'stop', reason: 'user', graceMs: 0 },
  result,
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('');

const pids = where === 'inside' ? ownNamespace() : ownWorker();
process.stdout.write(lines);
process.stderr.write(lines);
let written = 0;
let refused = 0;
for (const pid of pids) for (const fd of listFds(pid)) if (isStream(pid, fd)) forge(pid, fd);
let planted = 0;
for (const folder of [`${state}/runtime/results`, '.caisson', '.caisson/runtime/results'])
  for (const name of [runId, ...runs]) plant(`${folder}/${name}.1.result.json`);
process.stderr.write(
  `\n${pids.length} processes, ${written} written, ${refused} refused, ${planted} planted\n`,
);
process.exitCode = 7;

function ownNamespace() {
  const seen = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const first = readFileSync('/proc/1/cmdline', 'utf8');
  if (seen.length > 8 || !first.includes('bwrap')) {
    process.stderr.write(
      `this is no PID namespace of its own: ${seen.length} processes, the first is ${first}\n`,
    );
    process.exit(9);
  }
  return seen.map(Number).filter((pid) => pid !== process.pid);
}

/** The worker of this run, identified by its command line. */
function ownWorker() {
  for (let pid = process.ppid; pid > 1; pid = parentOf(pid))
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker.mjs')) return [pid];
  return [];
}

function parentOf(pid) {
  return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
}

function listFds(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).filter((fd) => where === 'inside' || Number(fd) <= 3);
  } catch {
    return [];
  }
}

function isStream(pid, fd) {
  try {
    return /^(?:pipe|socket):/.test(readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return false;
  }
}

function forge(pid, fd) {
  try {
    const open = openSync(`/proc/${pid}/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
    writeSync(open, lines);
    closeSync(open);
    written += 1;
  } catch {
    refused += 1;
  }
}

function plant(path) {
  try {
    writeFileSync(path, JSON.stringify(result));
    planted += 1;
  } catch {
    refused += 1;
  }
}
