/** Digests of what a project asks for: over the values themselves and the contents of the files that they name. */
import { createHash } from 'node:crypto';
import type { Ask, TrustRequest } from '../config/index.ts';
import type { AskedParts, AskLine } from './contract.ts';

type Asked = Pick<TrustRequest, 'asks' | 'sends'>;

export function digestAsks(lines: readonly AskLine[], { asks, sends }: Asked): string {
  const text = JSON.stringify([
    'caisson-trust/1',
    asks.map(({ path, value }) => [path, value]).toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    lines.map(({ key, files }) => [key, files.map(({ path, sha256 }) => [path, sha256])]),
    sends.map(({ by, credential, to }) => [by, credential, to]),
  ]);
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

export function digestParts(lines: readonly AskLine[], { asks, sends }: Asked): AskedParts {
  const others = asks.filter((ask) => !isResident(ask));
  const linesOf = (some: readonly Ask[]): AskLine[] => {
    const keys = new Set(some.map(({ path }) => path.join('.')));
    return lines.filter(({ key }) => keys.has(key));
  };
  return {
    residents: asks.filter(isResident).map((ask) => digestAsks(linesOf([ask]), { asks: [ask], sends: [] })),
    rest: digestAsks(linesOf(others), { asks: others, sends }),
  };
}

/** Whether this is what was agreed to, or that without some senses, workflows or schedules. */
export function isNoMore(asked: AskedParts, agreed: AskedParts): boolean {
  return asked.rest === agreed.rest && asked.residents.every((digest) => agreed.residents.includes(digest));
}

/**
 * A whole one, which stands alone: without it less happens. Other keys change what the rest means when they go: without
 * `git.identity` another key of the user is offered to `git.url`.
 */
function isResident({ path: [kind, ...names] }: Ask): boolean {
  return (kind === 'senses' || kind === 'workflows' || kind === 'schedules') && names.length === 1;
}
