/**
 * `npm start`: the main job on the embedded default. A real agent loop in a real sandbox works on a small sample repo
 * and is sealed; then the result is verified. Only the model is scripted: it is a server of ours on loopback, so that
 * no account, key or network is needed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModelServer } from '@caisson/testkit';

const BIN = fileURLToPath(new URL('../packages/cli/bin/caisson.js', import.meta.url));
const TASK = 'sum() in sum.sh adds only the first two numbers. Fix it, and leave the test as it is.';

const SUM_BROKEN = 'sum() {\n  echo $(( $1 + $2 ))\n}\n';
const SUM_FIXED =
  'sum() {\n  total=0\n  for number in "$@"; do total=$(( total + number )); done\n  echo "$total"\n}\n';
const SUM_TEST = '. ./sum.sh\n[ "$(sum 1 2 3)" = 6 ] && echo "ok: 1 + 2 + 3 = 6"\n';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const server = await startModelServer({
  apiKey: 'demo-key-kept-outside-the-sandbox',
  script: [
    {
      say: 'I look at the code and its test.',
      tool: { intent: 'run-command', command: 'cat sum.sh test.sh; sh test.sh' },
    },
    { say: 'The loop is missing.', tool: { intent: 'write-file', path: 'sum.sh', content: SUM_FIXED } },
    { say: 'Now the test.', tool: { intent: 'run-command', command: 'sh test.sh' } },
    { say: 'sum() now adds every number it is given; the test passes.' },
  ],
});
const project = createSampleRepo(server.url);
say(`Sample repo: ${project}`);
say(
  `Model: scripted, on ${server.url} (no key, no tokens); agent, sandbox, git, ledger and signature are real.\n`,
);

say(
  'Its caisson.yaml names an endpoint and a key, so you would be asked once. Here the demo agrees for you:',
);
say(`$ caisson trust --yes --send-key ${server.url}`);
await runCaisson('trust', '--yes', '--send-key', server.url);
say(`\n$ caisson run "${TASK}" --verify "sh test.sh"`);
const code = await runCaisson('run', TASK, '--verify', 'sh test.sh');
if (code === 0) {
  say('\n$ caisson diff latest');
  await runCaisson('diff', 'latest');
  say('\n$ caisson verify latest');
  process.exitCode = await runCaisson('verify', 'latest');
  say(`\nLook around:  cd ${project}`);
  say(`              node ${BIN} show latest`);
  say(`The command for your shell:  mkdir -p ~/.local/bin && ln -sf ${BIN} ~/.local/bin/caisson`);
  say('In a repo of yours, with an agent you have installed:  caisson run "…"  (see README.md)');
} else {
  say(`\nThe run did not finish (exit ${code}). What this machine lacks:`);
  await runCaisson('doctor');
  process.exitCode = code;
}
await server.stop();

function createSampleRepo(endpoint: string): string {
  const root = join(realpathSync(mkdtempSync(join(tmpdir(), 'caisson-start-'))), 'sample');
  mkdirSync(root);
  writeFileSync(join(root, 'sum.sh'), SUM_BROKEN);
  writeFileSync(join(root, 'test.sh'), SUM_TEST);
  writeFileSync(
    join(root, 'caisson.yaml'),
    `runtime: native\nruntimes:\n  native: { endpoint: "${endpoint}", apiKey: "env:CAISSON_DEMO_KEY", model: claude-sonnet-4-5 }\n`,
  );
  const git = (...args: string[]): void => {
    execFileSync('git', ['-c', 'user.name=Sample', '-c', 'user.email=sample@example.invalid', ...args], {
      cwd: root,
      stdio: 'ignore',
    });
  };
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'a sum that is wrong');
  return root;
}

/** The server lives in this process, so the CLI must not block it. */
function runCaisson(...args: string[]): Promise<number> {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: project,
    stdio: 'inherit',
    env: { ...process.env, CAISSON_DEMO_KEY: 'demo-key-kept-outside-the-sandbox' },
  });
  return new Promise((resolve) => child.once('exit', (exit) => resolve(exit ?? 1)));
}
