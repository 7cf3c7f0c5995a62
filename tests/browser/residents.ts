import { expect, it } from 'vitest';
import { until } from '../e2e/open-project.ts';
import { SEEN_MS, type Stage } from './open-page.ts';

const LIMIT_MS = 60_000;

/** What a person does with residents. */
export function describeResidents(at: () => Stage): void {
  it(
    'a sense is triggered with one press, a worker restarted and a thread cancelled after a second one',
    { timeout: LIMIT_MS },
    async () => {
      const { scene, page, go } = at();
      const sent: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST') sent.push(new URL(request.url()).pathname);
      });
      await go('residents');
      const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).first();
      const computes = () =>
        page.getByRole('region', { name: 'Senses' }).getByRole('row').nth(1).getByRole('cell').nth(3);
      await button('Trigger orders').waitFor({ timeout: SEEN_MS });
      const before = Number(await computes().innerText());
      await button('Trigger orders').click();
      await until('it computed', async () => Number(await computes().innerText()) > before, SEEN_MS);

      await button(/^Restart /).click();
      await button(/^Really restart\? /).waitFor();
      expect(sent).toEqual(['/v1/senses/orders/trigger']);
      await button(/^Really restart\? /).click();
      await until('it is restarted', () => Promise.resolve(sent.some((path) => path.endsWith('/restart'))));
      await button(/^Restart /).waitFor({ timeout: SEEN_MS });
      expect(await page.getByRole('alert').count()).toBe(0);

      await scene.project.caisson('workflows', 'trigger', 'restock', '--payload', '{"item":"milk"}');
      await button(/^Cancel thread_/).click({ timeout: SEEN_MS });
      await button(/^Really cancel\? thread_/).click();
      await until(
        'the thread is cancelled',
        async () => (await scene.project.caisson('threads', 'list')).stdout.includes('cancelled'),
        SEEN_MS,
      );
      await button('Start a thread restock').click();
      await until('it is started', () => Promise.resolve(sent.includes('/v1/workflows/restock/threads')));
    },
  );
}
