import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { AskedSection } from './asked-section.tsx';

/** Only the members that are read. */
function render(more: object): string {
  const grant = { mode: 'full-auto', sandbox: 'bwrap', hosts: [], tools: [], limits: {}, budget: {} };
  const task = { description: 'Tidy', priority: 5 };
  const at = '2026-01-01T00:00:00.000Z';
  const accepted = { type: 'dispatch.accepted', at, task, grant, runtime: 'native', ...more };
  const run = { resolved: { model: { requested: '', served: [] } } } as unknown as DispatchResult;
  const events = [accepted as unknown as EventEnvelope];
  return renderToStaticMarkup(createElement(AskedSection, { run, events })).replaceAll(/<[^>]+>/g, ' ');
}

test('the time limit of a run is the one that it has; of one that did not record it, it is unknown', () => {
  expect(render({ timeoutMs: 90_000 })).toMatch(/Time +at most 1 min 30 s/);
  expect(render({})).toMatch(/Time +unknown/);
});
