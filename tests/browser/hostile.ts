import { expect, it } from 'vitest';
import {
  EVIL_ASK_TASK,
  EVIL_CALL_TASK,
  EVIL_FILE,
  EVIL_REPLY,
  MANY_FILES,
  SEEN_WORDS,
} from './hostile-text.ts';
import { SEEN_MS, type Stage } from './open-page.ts';

const LIMIT_MS = 120_000;
/** What is drawn of a list of any length. */
const MAX_DRAWN = 200;

/** What an agent writes is text, of any size. */
export function describeHostile(at: () => Stage): void {
  it('a task, a reply and a file name with markup are shown as text', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go, runs, trouble } = at();
    await scene.untilIs(runs.evil, 'done');
    await go('runs');
    await page
      .getByText('tidy <img src=x onerror=alert(1)> up \\u202etxt.exe')
      .first()
      .waitFor({ timeout: SEEN_MS });
    await go(`runs/${runs.evil}`);
    await page.getByText(EVIL_REPLY).first().waitFor({ timeout: SEEN_MS });
    await go(`runs/${runs.evil}/diff`);
    await page.getByText(EVIL_FILE).first().waitFor({ timeout: SEEN_MS });
    await page.getByText('<b>\\u202e').first().waitFor();
    await go('');
    await page.getByText('tidy <img').first().waitFor({ timeout: SEEN_MS });
    expect(await page.locator('main img, main script, main iframe, a[href^="javascript:"]').count()).toBe(0);
    expect(trouble).toEqual([]);
  });

  describeHostileWaits(at);

  it('50 MB of a log, and colours without end, are scrolled', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go, runs, trouble } = at();
    await scene.untilIs(runs.flood, 'done');
    await go(`runs/${runs.flood}/log`);
    const log = page.getByRole('region', { name: 'Log of stdout' });
    await log.getByText('the last line').waitFor({ timeout: 60_000 });
    expect(await log.locator('.log-line').count()).toBeLessThan(MAX_DRAWN);
    // A million lines came; a hundred thousand are kept.
    await page.getByText(/The first 9\d\d,\d{3} lines are not kept here/).waitFor();
    await page.getByLabel('Follow the end').uncheck();
    await log.evaluate((box) => box.scrollTo(0, 0));
    await log.getByText('a line of a log that is far too long').first().waitFor();
    expect(await page.title()).toContain('Caisson');
    expect(trouble).toEqual([]);
  });

  it(`a diff of ${MANY_FILES} files is scrolled to its end`, { timeout: LIMIT_MS }, async () => {
    const { page, go, runs } = at();
    await go(`runs/${runs.flood}/diff`);
    const diff = page.getByRole('region', { name: 'Diff' });
    await diff.getByText('many/file-00001.txt').waitFor({ timeout: SEEN_MS });
    await diff.focus();
    await page.keyboard.press('End');
    await diff.getByText(`many/file-${MANY_FILES}.txt`).waitFor({ timeout: SEEN_MS });
    expect(await diff.locator('.diff-row').count()).toBeLessThan(MAX_DRAWN);
    await page.getByRole('button', { name: 'Choose none' }).click();
    await page.getByRole('checkbox', { name: `Take many/file-${MANY_FILES}.txt` }).check();
    await page.getByRole('button', { name: 'Apply 1 file' }).waitFor();
  });
}

function describeHostileWaits(at: () => Stage): void {
  it('a call and a question with markup are decided as what they are', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go, trouble } = at();
    const native = ['--runtime', 'native', '--mode', 'full-auto'];
    const asks = await scene.start(...native, EVIL_ASK_TASK);
    await scene.untilIs(asks, 'waiting');
    const calls = await scene.start(...native, EVIL_CALL_TASK);
    await go('');
    const call = page.locator('.kind-approval', { hasText: 'rm -rf sweep' });
    await call.getByText(`rm -rf sweep # ${SEEN_WORDS}`).waitFor({ timeout: SEEN_MS });
    const question = page.locator('.kind-question', { hasText: 'Which? <script>' });
    await question.getByText(`Which? ${SEEN_WORDS}`).waitFor({ timeout: SEEN_MS });
    await question.getByRole('button', { name: `yes ${SEEN_WORDS}` }).waitFor();
    await go(`runs/${calls}`);
    await page.getByText(SEEN_WORDS).first().waitFor({ timeout: SEEN_MS });
    await go('');
    await call.getByRole('button', { name: 'Deny' }).click({ timeout: SEEN_MS });
    await call.waitFor({ state: 'detached', timeout: SEEN_MS });
    await question.getByRole('button', { name: 'no', exact: true }).click();
    await question.waitFor({ state: 'detached', timeout: SEEN_MS });
    expect(trouble).toEqual([]);
  });
}
