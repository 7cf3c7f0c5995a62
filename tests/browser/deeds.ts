import { expect, it } from 'vitest';
import { until } from '../e2e/open-project.ts';
import { SEEN_MS, type Stage } from './open-page.ts';
import { DELETES, ROUNDS } from './scene.ts';

const LIMIT_MS = 120_000;

/** What a person does with runs: many at once, again, nearer, and with words to the agent. */
export function describeDeeds(at: () => Stage): void {
  describeBulk(at);
  describeZoom(at);
  describeRetry(at);
  describeComments(at);
}

function describeBulk(at: () => Stage): void {
  it('marked runs are cancelled and started again, all at once', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go } = at();
    for (let count = 0; count < 2; count += 1) await scene.start('--session', 'bulk', '--', 'sleep', '300');
    await go('runs?session=bulk');
    const bar = page.getByRole('region', { name: 'Marked runs' });
    const markAll = async (count: number): Promise<void> => {
      const boxes = page.getByRole('checkbox', { name: /^Mark the run/ });
      await until(`${count} runs`, async () => (await boxes.count()) === count);
      for (const box of await boxes.all()) await box.check();
    };
    const press = async (label: string, confirm: string): Promise<void> => {
      await bar.getByRole('button', { name: label, exact: true }).click();
      await bar.getByRole('button', { name: confirm }).click();
      await bar.waitFor({ state: 'detached', timeout: SEEN_MS });
    };
    const untilCancelled = (count: number): Promise<unknown> =>
      until(
        `${count} cancelled`,
        async () => (await page.locator('.run-row', { hasText: 'cancelled' }).count()) === count,
        SEEN_MS,
      );
    await markAll(2);
    await press('Cancel 2', 'Really cancel 2 runs?');
    await untilCancelled(2);
    await markAll(2);
    await press('Retry 2', 'Really start 2 runs again?');
    await markAll(4);
    await press('Cancel 2', 'Really cancel 2 runs?');
    await untilCancelled(4);
  });
}

function describeZoom(at: () => Stage): void {
  it('a timeline is zoomed and moved with buttons, keys and the wheel', { timeout: LIMIT_MS }, async () => {
    const { page, go, runs } = at();
    await go(`runs/${runs.rounds}/timeline`);
    const picture = page.getByRole('img', { name: /^Timeline of/ });
    await picture.waitFor({ timeout: SEEN_MS });
    const ticks = async (): Promise<string> =>
      (await picture.locator('.tick text').allTextContents()).join(' ');
    const untilTicks = (what: string, fits: (now: string) => boolean): Promise<unknown> =>
      until(what, async () => fits(await ticks()));
    const whole = await ticks();
    const isWhole = (now: string): boolean => now === whole;
    const isPart = (now: string): boolean => now !== whole;
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await untilTicks('the zoom of the button', isPart);
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await untilTicks('the whole', isWhole);
    await picture.press('+');
    await picture.press('+');
    await untilTicks('the zoom of the keys', isPart);
    const before = await ticks();
    await picture.press('ArrowRight');
    await untilTicks('a move to the right', (now) => now !== before && now !== whole);
    await picture.press('0');
    await untilTicks('the whole again', isWhole);
    await picture.hover();
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -400);
    await page.mouse.wheel(0, -400);
    await page.keyboard.up('Control');
    await untilTicks('the zoom of the wheel', isPart);
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await untilTicks('all of it', isWhole);
  });
}

function describeRetry(at: () => Stage): void {
  it(
    'a form has the focus when it is opened, and says that nothing was written',
    { timeout: LIMIT_MS },
    async () => {
      const { page, go, runs } = at();
      await go(`runs/${runs.rounds}`);
      await page.getByRole('button', { name: 'Continue…' }).click();
      const field = page.getByLabel('The next task; it begins with this work');
      await field.waitFor({ timeout: SEEN_MS });
      await page.keyboard.press('Control+Enter');
      await page.getByText('Nothing was sent: the field is empty.').waitFor({ timeout: SEEN_MS });
      await page.keyboard.type('And the taxes');
      expect(await field.inputValue()).toBe('And the taxes');
      expect(await page.getByText('Nothing was sent').count()).toBe(0);
    },
  );

  it('a run is started again with an edited task', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go, runs } = at();
    await go(`runs/${runs.rounds}`);
    await page.getByRole('button', { name: 'Retry…' }).click();
    const task = page.getByLabel('The task, edited if you like');
    expect(await task.inputValue()).toBe(ROUNDS);
    await task.fill(`${ROUNDS}, and say why`);
    await page.getByRole('button', { name: 'Retry', exact: true }).click();
    await page
      .getByRole('heading', { level: 1, name: `${ROUNDS}, and say why` })
      .waitFor({ timeout: SEEN_MS });
    const again = runOf(page.url());
    expect(again).not.toBe(runs.rounds);
    const shown = (await scene.project.caisson('show', again, '-o', 'json')).stdout;
    expect(JSON.parse(shown)).toMatchObject({ runId: again });
  });
}

/** What `notifyWaiting` needs to show something: a page that nobody looks at. What it shows is kept. */
const LOOK_AWAY = `
  Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' });
  window.notified = [];
  window.Notification = class extends Notification {
    constructor(title, options) {
      super(title, options);
      window.notified.push(options.body);
    }
  };`;

function describeComments(at: () => Stage): void {
  it(
    'comments become the next task, whose wait is notified, and then reach the agent at work on it',
    { timeout: LIMIT_MS },
    async () => {
      const { scene, page, go, runs } = at();
      await page.context().grantPermissions(['notifications']);
      await go('');
      await page.keyboard.press('?');
      await page.getByLabel('Notify me on the desktop').check();
      await page.keyboard.press('Escape');

      await go(`runs/${runs.rounds}/diff`);
      await page.evaluate(LOOK_AWAY);
      await comment(at(), `Why like this? ${DELETES}`);
      await page.getByRole('button', { name: 'Continue its work with them' }).click();
      await page
        .getByRole('heading', { level: 1, name: 'Comments on your changes' })
        .waitFor({ timeout: SEEN_MS });
      const follower = runOf(page.url());
      expect(follower).not.toBe(runs.rounds);
      const notified = (): Promise<string[]> => page.evaluate('window.notified');
      await until('a notification', async () => (await notified()).length > 0, SEEN_MS);
      expect((await notified()).join(' ')).toMatch(/ for you\.$/);

      await comment(at(), 'Keep the name.');
      await page.getByRole('button', { name: 'Send them to the agent that goes on with it' }).click();
      await until('the page of the follower', () => Promise.resolve(page.url().includes(follower)));
      await scene.project.caisson('approve', follower);
      await scene.untilIs(follower, 'done');
      const logged = (await scene.project.caisson('logs', follower)).stdout;
      expect(logged).toContain('channel.received');
    },
  );
}

/** Writes a comment on a line of the first run's diff; that page is opened where another is shown. */
async function comment({ page, go, runs }: Stage, text: string): Promise<void> {
  const path = `runs/${runs.rounds}/diff`;
  if (!page.url().endsWith(path)) await go(path);
  await page
    .getByRole('button', { name: 'Comment on line 7', exact: true })
    .first()
    .click({ timeout: SEEN_MS });
  await page.getByLabel('Your comment', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Keep' }).click();
  await page.getByRole('region', { name: '1 comment' }).waitFor();
}

function runOf(url: string): string {
  return /run_[0-9a-z]+/.exec(url)?.[0] ?? '';
}
