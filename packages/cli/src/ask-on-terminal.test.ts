import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleEnvelope } from '../../protocol/src/fixtures/sample-events.ts';
import { expect, onTestFinished, test } from 'vitest';

const PROGRAM = join(import.meta.dirname, 'fixtures', 'asking.ts');
const PROMPT = '[y/N]';

/** The asker on a terminal of its own. */
function openTerminal() {
  const folder = mkdtempSync(join(tmpdir(), 'asking-'));
  const child = spawn('script', ['-qec', `'${process.execPath}' '${PROGRAM}' '${folder}'`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  let screen = '';
  child.stdout.on('data', (chunk: Buffer) => {
    screen += chunk.toString('utf8');
  });
  const sees = async (text: string, times = 1): Promise<void> => {
    await expect.poll(() => screen.split(text).length - 1, { timeout: 10_000 }).toBe(times);
  };
  return {
    sees,
    screen: () => screen,
    type: (text: string) => void child.stdin.write(text),
    async receive(event: object) {
      const file = join(folder, 'event.json');
      writeFileSync(`${file}.new`, JSON.stringify(event));
      renameSync(`${file}.new`, file);
      await expect.poll(() => existsSync(file)).toBe(false);
    },
  };
}

const requested = (approvalId: string) =>
  sampleEnvelope('approval.requested', { approvalId, what: `rm ${approvalId}` });

test('what was typed before the question decides nothing', { timeout: 30_000 }, async () => {
  const terminal = openTerminal();
  await terminal.sees('<ready>');
  terminal.type('yes\nyes');
  await terminal.sees('yes', 2);
  await terminal.receive(requested('one'));
  await terminal.sees('What was typed before is ignored.');
  await terminal.sees(PROMPT);
  expect(terminal.screen()).not.toContain('<one');
  terminal.type('\n');
  await terminal.sees('<one deny>');
});

test('what is typed at the prompt decides', { timeout: 30_000 }, async () => {
  const terminal = openTerminal();
  await terminal.sees('<ready>');
  await terminal.receive(requested('one'));
  await terminal.sees(PROMPT);
  terminal.type('y\n');
  await terminal.sees('<one allow>');
  expect(terminal.screen()).not.toContain('ignored');
});

test('what is typed stays visible, and nothing is left of a prompt that was decided elsewhere', async () => {
  const terminal = openTerminal();
  await terminal.sees('<ready>');
  await terminal.receive(requested('one'));
  await terminal.sees(PROMPT);
  terminal.type('ye');
  await terminal.sees(`${PROMPT} ye`);
  await terminal.receive(requested('two')); // the status is drawn with every look for an event
  expect(terminal.screen().endsWith(`${PROMPT} ye`)).toBe(true);
  await terminal.receive(
    sampleEnvelope('approval.decided', { approvalId: 'one', decision: 'allow', by: 'user' }),
  );
  await terminal.sees('Decided elsewhere');
  expect(terminal.screen()).toMatch(/\[y\/N\] ye\r\u001b\[2KDecided elsewhere: allow \(user\)\.\r\n/);
});

test('a line that is printed meanwhile waits, and what was typed is what is sent', async () => {
  const terminal = openTerminal();
  await terminal.sees('<ready>');
  await terminal.receive(requested('one'));
  await terminal.sees(PROMPT);
  terminal.type('y');
  await terminal.sees(`${PROMPT} y`);
  await terminal.receive(sampleEnvelope('warning', { message: 'a line' }));
  await terminal.receive(requested('two'));
  expect(terminal.screen().endsWith(`${PROMPT} y`)).toBe(true);
  terminal.type('\n');
  await terminal.sees('<one allow>');
  await terminal.sees('a line');
});

test(
  'half an answer to a question that is decided elsewhere does not go to the next',
  { timeout: 30_000 },
  async () => {
    const terminal = openTerminal();
    await terminal.sees('<ready>');
    await terminal.receive(requested('one'));
    await terminal.sees(PROMPT);
    await terminal.receive(requested('two'));
    terminal.type('yes');
    await terminal.sees('yes');
    await terminal.receive(
      sampleEnvelope('approval.decided', { approvalId: 'one', decision: 'deny', by: 'user' }),
    );
    await terminal.sees(PROMPT, 2);
    terminal.type('\n');
    await terminal.sees('<two deny>');
    expect(terminal.screen()).not.toContain('<one');
  },
);
