import { readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { until } from '../e2e/open-project.ts';
import { SEEN_MS, type Stage } from './open-page.ts';
import { DELETES } from './scene.ts';

const LIMIT_MS = 120_000;

/** What a person decides: calls by keys, answers, and which part of a patch is taken. */
export function describeDecisions(at: () => Stage): void {
  describeCalls(at);
  describeAnswers(at);
  describeTaking(at);
}

function describeCalls(at: () => Stage): void {
  it(
    'a key decides the call that was chosen, and never one that has just come',
    { timeout: LIMIT_MS },
    async () => {
      const { scene, page, go, runs } = at();
      const sent: string[] = [];
      page.on('request', (request) => {
        if (request.url().endsWith('/decision')) sent.push(request.postData() ?? '');
      });
      const calls = page.locator('.inbox-card', { hasText: 'rm -rf' });
      const chosen = page.locator('.inbox-card[aria-current]');
      await go('');
      await calls.first().waitFor({ timeout: SEEN_MS });
      await page.keyboard.press('a');
      expect([await chosen.count(), sent]).toEqual([0, []]);

      // It is less urgent than a call, so a call that comes would push it down.
      const answer = page.getByRole('button', { name: 'postgres' });
      await answer.hover();
      const place = await answer.boundingBox();
      const second = await startCall(at());
      await until('the second call', async () => (await calls.count()) === 2);
      expect(await answer.boundingBox()).toEqual(place);
      await showLate(page);
      await page.keyboard.press('j');
      await page.keyboard.press('j');
      await page.keyboard.press('k');
      expect(await chosen.innerText()).toContain(runs.deletes.slice(-8));
      await page.keyboard.press('d');
      await until('one call left', async () => (await calls.count()) === 1);
      expect(await chosen.innerText()).toContain(second.slice(-8));
      await page.keyboard.press('d'); // meant for the call before it
      expect(sent).toEqual(['{"decision":"deny"}']);
      await until('the call is allowed', async () => {
        await page.keyboard.press('a');
        return (await calls.count()) === 0;
      });
      expect(sent).toEqual(['{"decision":"deny"}', '{"decision":"allow"}']);
      await scene.untilIs(second, 'done');

      await go('');
      await page.getByText('Which database').first().waitFor({ timeout: SEEN_MS });
      const third = await startCall(at());
      await calls.first().waitFor({ timeout: SEEN_MS });
      await showLate(page);
      await calls.locator('[aria-busy="false"]').first().waitFor({ timeout: SEEN_MS }); // all of the call is there
      await page.keyboard.press('a');
      expect([sent.length, await chosen.count()]).toEqual([2, 0]);
      await page.keyboard.press('j');
      await page.keyboard.press('a');
      await scene.untilIs(third, 'done');
      const logged = (await scene.project.caisson('logs', third)).stdout;
      expect(logged).toContain('dashboard: allow');
    },
  );
}

function describeAnswers(at: () => Stage): void {
  it('a question is answered, a failure is hidden with d', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go } = at();
    await page.setViewportSize({ width: 1280, height: 480 });
    await go('');
    const tea = page.locator('.inbox-card', { hasText: 'Order 40 boxes of tea?' });
    const yes = tea.getByRole('button', { name: 'yes' });
    // A thread is no run: it has no page of its own.
    await tea.getByText('The workflow asks').waitFor({ timeout: SEEN_MS });
    expect(await tea.locator('h2 ~ .card-place a').getAttribute('href')).toBe('/residents');
    // At the edge of the window: the rest of its card is out of sight.
    await yes.evaluate((button) => button.scrollIntoView({ block: 'end' }));
    await yes.click();
    await tea.waitFor({ state: 'detached', timeout: SEEN_MS });
    const threads = async () => (await scene.project.caisson('threads', 'list')).stdout;
    await until('the thread goes on', async () => !(await threads()).includes('waiting'));
    await page.setViewportSize({ width: 1280, height: 800 });
    const failure = page.locator('.kind-failure').first();
    await failure.locator('p').first().click();
    const name = await failure.locator('h2').innerText();
    await page.keyboard.press('d');
    await page.locator('.kind-failure', { hasText: name }).waitFor({ state: 'detached', timeout: SEEN_MS });
  });
}

function describeTaking(at: () => Stage): void {
  it('one part of one file is applied, and the rest stays to be taken', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go, runs } = at();
    await go(`runs/${runs.rounds}/diff`);
    await page.getByRole('checkbox', { name: 'Take part 2 of src/price.mjs' }).uncheck({ timeout: SEEN_MS });
    await page.getByRole('checkbox', { name: 'Take test/price.test.mjs' }).uncheck();
    const panel = page.getByRole('region', { name: 'Apply' });
    await panel.getByRole('button', { name: 'Apply 1 file' }).click();
    await panel.getByText('src/price.mjs').waitFor({ timeout: SEEN_MS });
    const text = readFileSync(join(scene.project.root, 'src/price.mjs'), 'utf8');
    expect(text).toContain('return roundCents(net * (1 + rate));');
    expect(text).toContain('return prices.reduce((sum, price) => sum + price, 0);');
    expect(existsSync(join(scene.project.root, 'test/price.test.mjs'))).toBe(false);
  });

  it('evidence is verified, and its export is saved as what it is', { timeout: LIMIT_MS }, async () => {
    const { page, go, runs } = at();
    await go(`runs/${runs.rounds}/evidence`);
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('Everything is as it was sealed.').waitFor({ timeout: SEEN_MS });
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    expect((await saved).suggestedFilename()).toBe(`${runs.rounds}.caisson.tar`);
  });

  it('costs have an agent and a model', { timeout: LIMIT_MS }, async () => {
    const { page, go } = at();
    await go('costs');
    await page.getByRole('region', { name: 'By Agent' }).getByText('native').waitFor({ timeout: SEEN_MS });
    await page.getByRole('button', { name: 'Model' }).click();
    await page.getByRole('region', { name: 'By Model' }).getByText('claude-sonnet-4-5').waitFor();
    await page.getByText(/of 500 tool calls/).waitFor();
  });
}

/** What has come stands below what was there; a press puts it first. */
async function showLate(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^[1-9]\d* new entr(?:y|ies): show$/ }).click();
}

function startCall({ scene }: Stage): Promise<string> {
  return scene.start('--runtime', 'native', '--mode', 'full-auto', '--session', 'release', DELETES);
}
