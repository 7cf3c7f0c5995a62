import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { REBOUND, type Stage } from './open-page.ts';

const LIMIT_MS = 60_000;

/** Pages of strangers, in the browser in which a person is signed in. */
export function describeAttacks(at: () => Stage): void {
  it('a page of another origin gets nothing', { timeout: LIMIT_MS }, async () => {
    const { scene } = at();
    const evil = await openEvil(at(), '127.0.0.1');
    const answers = await attack(evil, scene.url);
    expect(answers.filter((answer) => answer !== 'refused' && answer !== 'opaque 0 ')).toEqual([]);
    await evil.setContent(`<iframe src="${scene.url}"></iframe>`);
    await evil.frames()[1]?.waitForLoadState();
    expect(await evil.frames()[1]?.locator('#root').count()).toBe(0);
  });

  it('a name that was rebound to this machine gets nothing', { timeout: LIMIT_MS }, async () => {
    const { scene } = at();
    const rebound = `http://${REBOUND}:${new URL(scene.url).port}/`;
    const evil = await openEvil(at(), REBOUND);
    expect((await attack(evil, rebound)).filter((answer) => /^(?:basic|cors) 2/.test(answer))).toEqual([]);
    // By now the stranger's page has the origin of the dashboard.
    const response = await evil.goto(rebound);
    expect(response?.status()).toBeGreaterThanOrEqual(400);
    expect(await evil.locator('#root').count()).toBe(0);
    expect((await attack(evil, rebound)).filter((answer) => !/^basic 4\d\d/.test(answer))).toEqual([]);
  });
}

async function openEvil({ page }: Stage, host: string): Promise<Page> {
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<p>evil'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const evil = await page.context().newPage();
  onTestFinished(async () => {
    await evil.close();
    server.closeAllConnections();
    server.close();
  });
  await evil.goto(`http://${host}:${(server.address() as AddressInfo).port}/`);
  return evil;
}

/** What a stranger's page tries, and what it gets. */
function attack(evil: Page, url: string): Promise<string[]> {
  return evil.evaluate(async (target) => {
    const ask = async (init: RequestInit): Promise<string> =>
      await fetch(`${target}v1/runs`, init).then(
        async (response) => `${response.type} ${response.status} ${(await response.text()).slice(0, 60)}`,
        () => 'refused',
      );
    return [
      await ask({}),
      await ask({ mode: 'no-cors' }),
      await ask({ method: 'POST', mode: 'no-cors', body: '{"request":{"argv":["true"]}}' }),
      await ask({
        method: 'POST',
        headers: { 'content-type': 'application/json', 'caisson-client': 'x' },
        body: '{"request":{"argv":["true"]}}',
      }),
    ];
  }, url);
}
