import type { Caisson } from '@caisson/engine';
import { BusTopic } from '@caisson/protocol';
import type { Output } from './output.ts';

/**
 * Where the host itself warns: a callback that could not be queued, a secret that others can read, evidence that was
 * not sealed, a blob that is not in the bucket. Nothing of that is an event of a run, so nobody else would show it.
 */
const HOST_SOURCES: ReadonlySet<string> = new Set([
  'apply',
  'bus',
  'callbacks',
  'evidence',
  'secrets',
  'store',
  'sweep',
]);

/** Says on stderr what the host warns of, from now until it is closed. */
export function tellWarnings(caisson: Pick<Caisson, 'bus'>, output: Pick<Output, 'note'>): void {
  caisson.bus.on(BusTopic.WARNING, ({ source, message }) => {
    if (HOST_SOURCES.has(source)) output.note(`warning: ${source}: ${message}`);
  });
}
