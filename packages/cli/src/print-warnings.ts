import type { Caisson } from '@caisson/engine';
import { BusTopic } from '@caisson/protocol';
import type { Output } from './output.ts';
import { line, textLines, type Lines } from './painted.ts';

/**
 * Warnings of the host itself: a callback that could not be queued, a secret that others can read, evidence that was
 * not sealed, a blob that is not in the bucket, a host whose live events cannot be had, spans that no receiver takes, a changed file of a resident that does not
 * load. They are printed here in every output format, and nowhere else.
 */
const HOST_SOURCES: ReadonlySet<string> = new Set([
  'apply',
  'bus',
  'callbacks',
  'daemon',
  'evidence',
  'hosts',
  'residents',
  'secrets',
  'store',
  'sweep',
  'telemetry',
]);

/** Prints the host's warnings on stderr, from now until it is closed. `head` makes what each begins with. */
export function printWarnings(
  caisson: Pick<Caisson, 'bus'>,
  output: Pick<Output, 'note'>,
  head: () => string = () => '',
): void {
  caisson.bus.on(BusTopic.WARNING, ({ source, message }) => {
    if (isOfHost(source)) output.note(describeWarning(source, message, head()));
  });
}

/** The lines of a stack stay lines; each is below the first and indented, and so none of them can pass for another message. */
export function describeWarning(source: string, message: string, head = ''): Lines {
  const [first = '', ...more] = textLines(message);
  return [line`${head}warning: ${source}: ${first}`, ...more.map((text) => line`  ${text}`)];
}

export function isOfHost(source: string): boolean {
  return HOST_SOURCES.has(source);
}
