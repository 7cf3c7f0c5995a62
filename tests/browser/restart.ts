import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../e2e/open-project.ts';
import { SEEN_MS, type Stage } from './open-page.ts';

const LIMIT_MS = 120_000;

export function describeRestart(at: () => Stage): void {
  it('what happened while the daemon was gone is there, once', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go } = at();
    const { project } = scene;
    await go('runs');
    await project.caisson('run', '--', 'sh', '-c', 'true # before');
    await page.getByText('true # before').first().waitFor({ timeout: SEEN_MS });
    await killDaemon(at());
    await page.getByText('The host does not answer').waitFor({ timeout: SEEN_MS });
    await project.caisson('run', '--no-daemon', '--', 'sh', '-c', 'true # meanwhile');
    await project.caisson('up', '-d');
    await project.caisson('run', '--', 'sh', '-c', 'true # after');
    await page.getByText('true # after').first().waitFor({ timeout: 60_000 });
    for (const what of ['before', 'meanwhile', 'after'])
      expect([what, await page.locator('[role=row]', { hasText: `# ${what}` }).count()]).toEqual([what, 1]);
  });

  it(
    'what was opened while the daemon was gone is filled when it is back',
    { timeout: LIMIT_MS },
    async () => {
      const { scene, page, go } = at();
      await go('pool');
      const other = await page.context().newPage();
      onTestFinished(() => other.close());
      await other.goto(await scene.openLink());
      await other.getByRole('heading', { level: 1 }).waitFor({ timeout: SEEN_MS });
      await killDaemon(at());
      const open = async (tab: Page, name: string): Promise<void> => {
        await tab.getByText('The host does not answer').waitFor({ timeout: SEEN_MS });
        await tab.getByRole('link', { name, exact: true }).click();
        await tab.getByText('The host did not answer').waitFor({ timeout: SEEN_MS });
      };
      await open(page, 'Costs');
      await open(other, 'Runs');
      await scene.project.caisson('up', '-d');
      await page.getByText('of 500 tool calls').waitFor({ timeout: SEEN_MS });
      await other.getByRole('table', { name: 'Runs' }).waitFor({ timeout: SEEN_MS });
      for (const tab of [page, other]) expect(await tab.getByText('The host did not answer').count()).toBe(0);
    },
  );
  describeRotation(at);
}

function describeRotation(at: () => Stage): void {
  it('an open page stays signed in: its token is changed before it ends', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go } = at();
    await go('pool');
    const read = (): Promise<{ token: string; expiresAt: string }> =>
      page.evaluate(`JSON.parse(sessionStorage.getItem('caisson.session'))`);
    const before = await read();
    const soon = { ...before, expiresAt: new Date(Date.now() + 4000).toISOString() };
    await page.evaluate((text) => sessionStorage.setItem('caisson.session', text), JSON.stringify(soon));
    await page.reload();
    await until('another token', async () => (await read()).token !== before.token);
    expect(Date.parse((await read()).expiresAt)).toBeGreaterThan(Date.now() + 3_600_000);
    const old = await fetch(`${scene.url}v1/runs?limit=1`, {
      headers: { authorization: `Bearer ${before.token}` },
    });
    expect(old.status).toBe(401);
    await page.getByRole('link', { name: 'Costs' }).click();
    await page.getByRole('heading', { name: 'Caps' }).waitFor({ timeout: SEEN_MS });
  });
}

async function killDaemon({ scene }: Stage): Promise<void> {
  const { stdout } = await scene.project.caisson('status', '-o', 'json');
  process.kill((JSON.parse(stdout) as { pid: number }).pid, 'SIGKILL');
}
