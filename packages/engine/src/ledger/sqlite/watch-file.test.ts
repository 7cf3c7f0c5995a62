import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { OwnCommits } from './own-commits.ts';
import { watchFile } from './watch-file.ts';

/** What SQLite would say of the file, and how often news of another process was reported. */
let sqlite: { version: number; count: number };
let own: OwnCommits;
let news: number;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-watch-'));
  sqlite = { version: 1, count: 9 };
  own = new OwnCommits();
  news = 0;
  const watched = {
    file: join(folder, 'ledger.db'),
    readVersion: () => sqlite.version,
    readCount: () => sqlite.count,
    own,
  };
  const stop = watchFile(watched, () => (news += 1));
  onTestFinished(() => {
    stop();
    rmSync(folder, { recursive: true, force: true });
  });
});

/** Anyone commits: SQLite changes its version for all of them. */
function commit(events: number): { before: number; last: number } {
  const before = sqlite.count;
  sqlite = { version: sqlite.version + 1, count: before + events };
  return { before, last: sqlite.count };
}

function answer(added: Parameters<OwnCommits['notify']>[0], underWay = 0): void {
  own.underWay = underWay;
  own.notify(added);
}

test('commits of our own thread are no news, also when the next one is in the file before the answer comes', () => {
  own.underWay = 3;
  const [first, second, third] = [commit(1), commit(2), commit(1)];
  answer([first], 2);
  answer([second, third], 0);
  answer([{ before: sqlite.count, last: sqlite.count }]);
  expect(news).toBe(0);
});

test('an event of another process is news, before our own commit, between two of them and after them', () => {
  own.underWay = 1;
  commit(1);
  answer([commit(1)]);
  expect(news).toBe(1);
  own.underWay = 2;
  const first = commit(1);
  commit(1);
  answer([first, commit(1)]);
  expect(news).toBe(2);
  own.underWay = 1;
  const last = commit(1);
  commit(1);
  answer([last]);
  expect(news).toBe(3);
  answer([commit(1)]);
  expect(news).toBe(3);
});

test('an event of another process is news when a later answer of our thread is still under way', () => {
  own.underWay = 2;
  commit(1);
  answer([commit(1)], 1);
  expect(news).toBe(1);
});

test('what another process committed while our thread refused a call is news, an event or not', () => {
  own.underWay = 1;
  commit(0);
  answer([]);
  expect(news).toBe(1);
  answer([]);
  expect(news).toBe(1);
});
