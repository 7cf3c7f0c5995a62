import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { appendInMailbox, writeInMailbox } from './mailbox-file.ts';

let folder = '';
let mailbox = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mailbox-'));
  mailbox = join(folder, 'mailbox');
  mkdirSync(mailbox);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a link in place of the file is replaced, and what it points to is left alone', () => {
  const outside = join(folder, 'outside');
  writeFileSync(outside, 'the user’s');
  symlinkSync(outside, join(mailbox, 'needs_input.json'));
  writeInMailbox(mailbox, 'needs_input.json', '{"question":"?"}');
  expect(readFileSync(outside, 'utf8')).toBe('the user’s');
  expect(readFileSync(join(mailbox, 'needs_input.json'), 'utf8')).toBe('{"question":"?"}');
});

test('a link in place of the inbox is refused', () => {
  const outside = join(folder, 'outside');
  mkdirSync(join(mailbox, 'channel'));
  symlinkSync(outside, join(mailbox, 'channel', 'inbox.jsonl'));
  expect(() => appendInMailbox(mailbox, 'channel', 'inbox.jsonl', '{}\n')).toThrow('ELOOP');
  expect(existsSync(outside)).toBe(false);
});

test('a link in place of the folder is refused', () => {
  const outside = join(folder, 'outside');
  mkdirSync(outside);
  symlinkSync(outside, join(mailbox, 'channel'));
  expect(() => appendInMailbox(mailbox, 'channel', 'inbox.jsonl', '{}\n')).toThrow(/ELOOP|ENOTDIR/);
  expect(existsSync(join(outside, 'inbox.jsonl'))).toBe(false);
});

test('lines are added in the order in which they came', () => {
  for (const line of ['1\n', '2\n']) appendInMailbox(mailbox, 'channel', 'inbox.jsonl', line);
  expect(readFileSync(join(mailbox, 'channel', 'inbox.jsonl'), 'utf8')).toBe('1\n2\n');
});

test('a pipe in place of the inbox is refused at once, with and without a reader', () => {
  const inbox = join(mailbox, 'channel', 'inbox.jsonl');
  mkdirSync(join(mailbox, 'channel'));
  execFileSync('mkfifo', [inbox]);
  expect(() => appendInMailbox(mailbox, 'channel', 'inbox.jsonl', '{}\n')).toThrow('ENXIO');
  const reader = openSync(inbox, constants.O_RDONLY | constants.O_NONBLOCK);
  expect(() => appendInMailbox(mailbox, 'channel', 'inbox.jsonl', '{}\n')).toThrow('not a file');
  closeSync(reader);
});

test('a folder in place of the file is refused and left alone', () => {
  mkdirSync(join(mailbox, 'needs_input.json', 'a'), { recursive: true });
  expect(() => writeInMailbox(mailbox, 'needs_input.json', '{}')).toThrow();
  expect(existsSync(join(mailbox, 'needs_input.json', 'a'))).toBe(true);
});
