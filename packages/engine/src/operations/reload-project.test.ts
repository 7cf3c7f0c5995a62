import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { OPENED_WITH } from './reload-project.ts';

const GUIDE = new URL('../../../../docs/guides/daemon.md', import.meta.url);

it('the guide names what only a new daemon uses', () => {
  const [, list = ''] =
    /Only a new daemon uses what changed in ([^.]+(?:\.[^.\s][^.]*)*)\./.exec(readFileSync(GUIDE, 'utf8')) ??
    [];
  expect([...list.matchAll(/`([^`]+)`/g)].map(([, key]) => key)).toEqual(OPENED_WITH);
});
