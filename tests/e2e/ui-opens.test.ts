/** `caisson ui` on a terminal shows its page in the user's browser. */
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openTerminal } from './on-terminal.ts';
import { createProject, until, type Project } from './project.ts';

/** The program with which a desktop opens files: it notes what it was given. */
const XDG_OPEN = `#!/bin/sh
{ echo "$# $1"; stat -c %a "$1"; cat "$1"; } > "$HOME/opened.new" && mv "$HOME/opened.new" "$HOME/opened"
`;

function createDesktop(env: Record<string, string>): { project: Project; opened: string } {
  const project = createProject({ env });
  const home = project.env['HOME'] ?? '';
  const bin = join(home, 'bin');
  mkdirSync(bin);
  project.write('../home/bin/xdg-open', XDG_OPEN);
  chmodSync(join(bin, 'xdg-open'), 0o755);
  project.env['PATH'] = `${bin}:${project.env['PATH']}`;
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  return { project, opened: join(home, 'opened') };
}

test(
  'the browser gets a private file that leads to the link, which signs it in',
  { timeout: 90_000 },
  async () => {
    const { project, opened } = createDesktop({ DISPLAY: ':7' });
    const terminal = openTerminal(project, ['ui']);
    await until('the browser', () => existsSync(opened), 60_000);
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain('Opened in your browser.');
    const [args = '', mode, page = ''] = readFileSync(opened, 'utf8').split('\n');
    expect([args.replace(/^1 .*\//, '1 '), mode]).toEqual(['1 open-dashboard.html', '600']);
    const [, url = '', link = ''] = /url=(http:\/\/127\.0\.0\.1:\d+\/)#link=([\w-]+)"/.exec(page) ?? [];
    expect(terminal.screen()).toContain(`${url}#link=${link}`);
    const headers = { 'content-type': 'application/json', 'caisson-client': 'test' };
    const body = JSON.stringify({ link });
    expect((await fetch(new URL('/v1/session', url), { method: 'POST', headers, body })).status).toBe(200);
  },
);

test('without a screen the link is printed, and no program is started', { timeout: 90_000 }, async () => {
  const { project, opened } = createDesktop({});
  const terminal = openTerminal(project, ['ui']);
  expect(await terminal.ended).toBe(0);
  expect(terminal.screen()).toMatch(/\nOpen this link, once and within five minutes:\r?\nhttp:/);
  expect(existsSync(opened)).toBe(false);
});
