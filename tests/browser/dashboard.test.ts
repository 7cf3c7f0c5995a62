/** The dashboard in a real browser, on a real daemon with a real agent. */
import { createServer } from 'node:http';
import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startModelServer } from '@caisson/testkit';
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createProject, until, type Project } from '../e2e/project.ts';
import { findChromium } from './find-chromium.ts';

const LIMIT_MS = 120_000;
const SEEN_MS = 20_000;
let browser: Browser;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
}, 300_000);
afterAll(async () => {
  await browser.close();
});

interface Opened {
  readonly project: Project;
  readonly page: Page;
  readonly url: string;
  /** What the page asked for elsewhere, and what it reported as an error. */
  readonly trouble: string[];
}

async function openDashboard(
  script: Parameters<typeof startModelServer>[0] = { script: [] },
): Promise<Opened> {
  const server = await startModelServer(script);
  onTestFinished(() => server.stop());
  const project = createProject({
    env: { MODEL_KEY: 'scripted-key' },
    config: `runtimes:\n  native: { endpoint: "${server.url}", apiKey: env:MODEL_KEY, model: scripted-model }\n`,
  });
  await project.trust();
  const { url, link } = JSON.parse((await project.caisson('ui', '--no-open', '-o', 'json')).stdout) as {
    url: string;
    link: string;
  };
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const trouble: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) trouble.push(request.url());
  });
  page.on('pageerror', (error) => trouble.push(error.message));
  await page.goto(link);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ timeout: SEEN_MS });
  return { project, page, url, trouble };
}

it(
  'shows a run of a terminal live, approves its call there, and applies one file of two',
  { timeout: LIMIT_MS },
  async () => {
    const command = 'rm -rf old; echo a > a.txt; echo b > b.txt';
    const { project, page, url, trouble } = await openDashboard({
      script: [{ tool: { intent: 'run-command', command } }, { say: '<script>alert(1)</script> Done.' }],
    });
    expect(new URL(page.url()).hash).toBe('');
    await page.goto(`${url}runs`);
    const line = ['run', '--detach', '--runtime', 'native', '--mode', 'full-auto', '-o', 'json'];
    const started = await project.caisson(...line, 'clean <img src=x onerror=alert(1)> up');
    const { runId } = JSON.parse(started.stdout) as { runId: string };
    await page.getByText('clean <img src=x onerror=alert(1)> up').first().waitFor({ timeout: SEEN_MS });

    await page.goto(url);
    await page.getByText(command).first().waitFor({ timeout: SEEN_MS });
    await page.keyboard.press('j');
    await page.keyboard.press('a');
    await until('its end', async () => (await project.caisson('show', runId)).stdout.startsWith('finished'));
    const types = (await project.caisson('logs', runId)).stdout;
    expect(types).toContain('dashboard: decide');

    await page.goto(`${url}runs/${runId}/diff`);
    const box = page.getByRole('checkbox', { name: 'Take b.txt' });
    await box.waitFor({ timeout: SEEN_MS });
    await box.uncheck();
    await page
      .getByRole('region', { name: 'Apply' })
      .getByRole('button', { name: /^Apply/ })
      .first()
      .click();
    await until('a.txt', () => existsSync(join(project.root, 'a.txt')));
    expect(existsSync(join(project.root, 'b.txt'))).toBe(false);
    expect(trouble).toEqual([]);
  },
);

it(
  'goes on after its daemon was killed: what happened meanwhile is there, once',
  { timeout: LIMIT_MS },
  async () => {
    const { project, page, url } = await openDashboard();
    await page.goto(`${url}runs`);
    await project.caisson('run', '--', 'sh', '-c', 'true # before');
    await page.getByText('true # before').first().waitFor({ timeout: SEEN_MS });
    const { pid } = JSON.parse((await project.caisson('status', '-o', 'json')).stdout) as { pid: number };
    process.kill(pid, 'SIGKILL');
    await project.caisson('run', '--no-daemon', '--', 'sh', '-c', 'true # meanwhile');
    await project.caisson('up', '-d');
    await project.caisson('run', '--', 'sh', '-c', 'true # after');
    await page.getByText('true # after').first().waitFor({ timeout: 60_000 });
    for (const what of ['before', 'meanwhile', 'after'])
      expect([what, await page.locator('[role=row]', { hasText: `# ${what}` }).count()]).toEqual([what, 1]);
  },
);

it('a page of another origin gets nothing', { timeout: LIMIT_MS }, async () => {
  const { url, page } = await openDashboard();
  const evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>evil'));
  await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void evil.close());
  const other = await page.context().newPage();
  await other.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
  const got = await other.evaluate(async (target) => {
    const ask = async (init: RequestInit): Promise<string> =>
      await fetch(`${target}v1/runs`, init).then(
        async (response) => `${response.type} ${response.status} ${await response.text()}`,
        () => 'refused',
      );
    return [
      await ask({}),
      await ask({ mode: 'no-cors' }),
      await ask({ method: 'POST', mode: 'no-cors', body: '{"request":{"argv":["true"]}}' }),
      await ask({
        method: 'POST',
        headers: { 'content-type': 'application/json', 'caisson-client': 'x' },
        body: '{}',
      }),
    ];
  }, url);
  expect(got.filter((answer) => answer !== 'refused' && answer !== 'opaque 0 ')).toEqual([]);
  await other.setContent(`<iframe src="${url}"></iframe>`);
  const framed = other.frames()[1];
  await framed?.waitForLoadState().catch(() => undefined);
  expect(
    await framed
      ?.locator('nav')
      .count()
      .catch(() => 0),
  ).toBe(0);
});

it.each(['light', 'dark'] as const)(
  'every page is accessible, %s',
  { timeout: LIMIT_MS },
  async (colorScheme) => {
    const { project, page, url, trouble } = await openDashboard();
    await page.emulateMedia({ colorScheme });
    await project.caisson('run', '--', 'sh', '-c', 'echo hi; echo new > new.txt');
    const { runId } = (
      JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[]
    )[0] ?? { runId: '' };
    const paths = [
      '',
      'runs',
      `runs/${runId}`,
      ...['timeline', 'log', 'diff', 'evidence'].map((tab) => `runs/${runId}/${tab}`),
    ];
    for (const path of [...paths, 'costs', 'residents', 'pool', 'doctor']) {
      await page.goto(`${url}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor({ timeout: SEEN_MS });
      await page.waitForLoadState('domcontentloaded');
      const found =
        await page.evaluate(`(async () => { ${axe.source}; const { violations } = await axe.run({ runOnly: ['wcag2a', 'wcag2aa'] });
      return violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(' | ')); })()`);
      expect([path, found]).toEqual([path, []]);
    }
    expect(trouble).toEqual([]);
  },
);
