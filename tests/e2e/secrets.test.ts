import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';

const VALUE = 'pa55/w0rd+with"quotes"&more=Zq81';
const FORMS = [
  VALUE,
  ...[0, 1, 2].map((shift) =>
    Buffer.from('.'.repeat(shift) + VALUE)
      .toString('base64')
      .slice(4, 30),
  ),
  Buffer.from(VALUE).toString('base64url').slice(0, 30),
  encodeURIComponent(VALUE),
  encodeURIComponent(VALUE).toLowerCase(),
  JSON.stringify(VALUE).slice(1, -1),
  Buffer.from(VALUE).toString('hex'),
  [...VALUE].map((char) => `%${char.charCodeAt(0).toString(16)}`).join(''),
  [...VALUE].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join(''),
  [...VALUE].map((char, at) => (at % 2 === 1 ? char : `%${char.charCodeAt(0).toString(16)}`)).join(''),
];

/** An agent that gives away what it knows, in every way that a stream allows. */
const LEAKY = `
const value = process.env.TOKEN;
console.log('length ' + value.length);
console.log('plain ' + value);
console.error('plain ' + value);
console.log('base64 ' + Buffer.from(value).toString('base64'));
console.log('shifted ' + Buffer.from('x' + value + 'y').toString('base64'));
console.log('url ' + encodeURIComponent(value));
console.log('json ' + JSON.stringify({ value }));
console.log('hex ' + Buffer.from(value).toString('hex'));
const hex = (char, digits) => char.charCodeAt(0).toString(16).padStart(digits, '0');
console.log('every byte ' + [...value].map((char) => '%' + hex(char, 2)).join(''));
console.log('every unit ' + [...value].map((char) => '\\\\u' + hex(char, 4)).join(''));
console.log('mixed ' + [...value].map((char, at) => at % 2 ? char : '%' + hex(char, 2)).join(''));
for (const stream of [process.stdout, process.stderr])
  for (const char of 'slow ' + value + '\\n') { stream.write(char); await new Promise((next) => setTimeout(next, 2)); }
console.log('a git hash 9daeafb9864cf43055ae93beb0afd6c7d144bfa4 stays');
`;

const WAITS_FOR_WORKSPACE = `
import { globSync, watch } from 'node:fs';
const look = () => {
  if (globSync('.caisson/worktrees/*/files/README.md').length === 0) return;
  console.log('pa55w0rd');
  process.exit(0);
};
watch('.caisson/worktrees', { recursive: true }, look);
look();
`;

/** And one that asks a question with it. */
const ASKING = `
import { writeFileSync } from 'node:fs';
writeFileSync('.caisson/needs_input.json', JSON.stringify({
  question: 'May I use ' + process.env.TOKEN + '?',
  options: ['yes', process.env.TOKEN],
  context: { [process.env.TOKEN]: 'as a name' },
}));
`;

const SECRET = ['--secret', 'TOKEN=env:HOST_TOKEN'];

describe('a secret that an agent prints', () => {
  const prepare = (): Project => {
    const project = createProject({ env: { HOST_TOKEN: VALUE } });
    project.write('leaky.mjs', LEAKY);
    project.write('ask.mjs', ASKING);
    return project;
  };

  it('is in no file of the project, no event, no log and no output, in any form', async () => {
    const project = prepare();
    const ran = await project.caisson('run', ...SECRET, '-o', 'ndjson', '--', 'node', 'leaky.mjs');
    expect(ran.code).toBe(0);
    const runId = /"runId":"(run_[0-9a-z]+)"/.exec(ran.stdout)?.[1] ?? '';
    const result = await project.caisson('show', runId, '-o', 'json');
    const stdout = await project.caisson('logs', runId, '--stdout');
    const stderr = await project.caisson('logs', runId, '--stderr');
    expect(formsIn(ran, result, stdout, stderr)).toEqual([]);
    expect(filesWithForms(project)).toEqual([]);
    // Base64 keeps the one or two characters at each end that also carry a neighbour's bits.
    expect(
      stdout.stdout.replaceAll(/(?<=^(base64|shifted) ).*$/gm, (text) =>
        text.replaceAll(/^\w{0,2}(?=\[)|(?<=\])[\w=]{0,4}$/g, ''),
      ),
    ).toBe(
      [
        `length ${VALUE.length}`,
        'plain [redacted:TOKEN]',
        'base64 [redacted:TOKEN]',
        'shifted [redacted:TOKEN]',
        'url [redacted:TOKEN]',
        'json {"value":"[redacted:TOKEN]"}',
        'hex [redacted:TOKEN]',
        'every byte [redacted:TOKEN]',
        'every unit [redacted:TOKEN]',
        'mixed [redacted:TOKEN]',
        'slow [redacted:TOKEN]',
        'a git hash 9daeafb9864cf43055ae93beb0afd6c7d144bfa4 stays',
        '',
      ].join('\n'),
    );
    expect(stderr.stdout).toBe('plain [redacted:TOKEN]\nslow [redacted:TOKEN]\n');
  });

  it('is fetched beside the workspace: a command that prints it may wait for that', async () => {
    const project = createProject();
    await project.run('--', 'true'); // makes the folders
    project.write('key.mjs', WAITS_FOR_WORKSPACE);
    const order = ['--secret', 'TOKEN=exec:node key.mjs', '--', 'sh', '-c', 'echo ${#TOKEN}'];
    expect(await project.run(...order)).toMatchObject({ status: 'done', reply: '8' });
  });

  it('is fetched by a command that sees no variable of a task in the background, however long those are', async () => {
    const project = createProject();
    const [one, two] = ['a', 'b'].map((letter) => letter.repeat(100_000));
    const given = ['--env', `ONE=${one}`, '--env', `TWO=${two}`];
    const secret = ['--secret', 'SEEN=exec:env | grep -q aaaa && echo all-of-it || echo nothing-of-it'];
    const check = 'test "$SEEN" = nothing-of-it && test ${#ONE}${#TWO} = 100000100000';
    const words = [...given, ...secret, '--', 'sh', '-c', check];
    const { stdout, stderr } = await project.caisson('run', '--detach', ...words);
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^run_/), '']);
    await project.caisson('logs', stdout.trim(), '-f');
    const shown = await project.caisson('show', stdout.trim(), '-o', 'json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ status: 'done' });
  });

  it('is not there in half, where a long line is cut', async () => {
    const project = prepare();
    const half = Math.floor(VALUE.length / 2);
    const print = `process.stdout.write(process.env.TOKEN + 'y'.repeat(${32_768 - half}))`;
    const { reply } = await project.run(...SECRET, '--', 'node', '-e', print);
    expect(reply).toContain('yyy');
    expect(reply).not.toContain(VALUE.slice(-half));
  });

  it('is not in the report of a verify command, nor in a question', async () => {
    const project = prepare();
    const verified = await project.run(...SECRET, '--verify', 'echo "verify $TOKEN"; false', '--', 'true');
    const asked = await project.run(...SECRET, '--', 'node', 'ask.mjs');
    expect([verified.cli.code, asked.cli.code]).toEqual([1, 3]);
    expect(asked.result?.needsInput).toEqual({
      question: 'May I use [redacted:TOKEN]?',
      options: ['yes', '[redacted:TOKEN]'],
      context: { '[redacted:TOKEN]': 'as a name' },
    });
    expect(formsIn(verified.cli, asked.cli, await project.caisson('questions', '-o', 'json'))).toEqual([]);
    expect(filesWithForms(project)).toEqual([]);
  });

  it('is warned about when it is in the patch, which is left as it is', async () => {
    const project = prepare();
    const leaking = await project.run(...SECRET, '--', 'sh', '-c', 'echo "token=$TOKEN" >.env');
    const without = await project.run(...SECRET, '--', 'sh', '-c', 'echo fine >.env');
    const warnings = async (run: string): Promise<string> =>
      JSON.stringify((await project.events(run)).filter(({ type }) => type === 'warning'));
    expect(await warnings(leaking.runId)).toContain('the patch contains a secret');
    expect(await warnings(without.runId)).not.toContain('the patch contains a secret');
    expect((await project.caisson('diff', leaking.runId)).stdout).toContain(`+token=${VALUE}`);
  });

  it('is in no warning or record when it is the name of a file, a folder or a branch', async () => {
    const value = 'zq-Name-of-4711';
    const project = createProject({ env: { HOST_TOKEN: value } });
    const result = await project.run(
      ...SECRET,
      ...['--', 'sh', '-c'],
      'truncate -s 900G "big-$TOKEN"; mkdir -p "$TOKEN/.claude"; echo {} >"$TOKEN/.claude/settings.json"; git checkout -q -b "b-$TOKEN"; git commit -q --allow-empty -m x; exit 3',
    );
    const events = JSON.stringify(await project.events(result.runId));
    expect(events).toContain('big-[redacted:TOKEN]');
    expect(events + JSON.stringify(result)).not.toContain(value);
  });

  it('and that cannot be found fails the run with the reference and no value', async () => {
    const project = prepare();
    const { cli, failure } = await project.run(
      '--retries',
      '0',
      '--secret',
      'TOKEN=exec:echo $HOST_TOKEN; exit 4',
      '--',
      'true',
    );
    expect(cli.code).toBe(1);
    expect(failure).toMatchObject({ reason: 'fetch-failed', step: 7 });
    expect(failure?.detail).toContain('TOKEN');
    expect(formsIn(cli)).toEqual([]);
    expect(filesWithForms(project)).toEqual([]);
  });
});

/** The forms that what was printed holds. */
function formsIn(...printed: { stdout: string; stderr: string }[]): string[] {
  const texts = printed.flatMap(({ stdout, stderr }) => [stdout, stderr]);
  return FORMS.filter((form) => texts.some((text) => text.includes(form)));
}

/** Files of the project, state folder included, that hold the secret in any form. */
function filesWithForms(project: Project): string[] {
  return readdirSync(project.root, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const bytes = readFileSync(path);
      return FORMS.some((form) => bytes.includes(form));
    });
}

it('a secret file that others can read is warned about, once, and not in the data', async () => {
  const project = createProject();
  project.write('key.txt', VALUE);
  const { stdout, stderr, code } = await project.caisson(
    ...['run', '--secret', 'TOKEN=file:key.txt', '-o', 'json', '--', 'true'],
  );
  expect(code).toBe(0);
  expect(stderr.match(/^warning: secrets: .*key\.txt can be read by other users/gm)).toHaveLength(1);
  expect(JSON.parse(stdout)).toMatchObject({ status: 'done' });
});

describe('a secret in what git keeps', () => {
  const TOKEN = 'tok-3kQ9vXz7Lw2T';
  const COMMIT = [
    'git switch -qc "work-$TOKEN"; echo x > new.txt; git add new.txt',
    'git -c user.name="$TOKEN" -c user.email=a@b.invalid commit -qm "with $TOKEN"',
  ].join('; ');

  it('is in no ref, message or author of the project’s repository, and in no record', async () => {
    const project = createProject({ env: { HOST_TOKEN: TOKEN } });
    const ran = await project.run(...SECRET, '--branch', 'result', '--', 'sh', '-c', COMMIT);
    expect(ran.status).toBe('done');
    const refs = project.git('for-each-ref', '--format=%(refname)');
    expect(refs).toContain(`refs/caisson/${ran.runId}/heads/1/work-redacted-TOKEN`);
    const history = project.git('log', '--all', '--format=%an %s');
    expect(history).toContain('[redacted:TOKEN] with [redacted:TOKEN]');
    const record = JSON.stringify(await project.events(ran.runId));
    for (const text of [refs, history, record, JSON.stringify(ran)]) expect(text).not.toContain(TOKEN);
  });

  it('cannot be the name of the branch that is asked for', async () => {
    const project = createProject({ env: { HOST_TOKEN: TOKEN } });
    const refused = await project.caisson('run', ...SECRET, '--branch', `x/${TOKEN}`, '--', 'true');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('the secret TOKEN')]);
    expect(refused.stderr).not.toContain(TOKEN);
    expect((await project.caisson('runs', '-o', 'json')).stdout).not.toContain(TOKEN);
  });
});
