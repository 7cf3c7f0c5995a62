import { expect, test } from 'vitest';
import type { NativeLine } from '../native/native-lines.ts';
import { createUpdateReporter } from './report-updates.ts';

test('an id that is used again is a new call; a late word about one that has ended is none', () => {
  const lines: NativeLine[] = [];
  const reporter = createUpdateReporter((line) => lines.push(line));
  const call = { toolCallId: 'c', title: 'ls', kind: 'execute' as const };
  const report = (sessionUpdate: 'tool_call' | 'tool_call_update', status: 'pending' | 'completed'): void =>
    reporter.report({ sessionUpdate, ...call, status });
  report('tool_call', 'pending');
  report('tool_call_update', 'completed');
  report('tool_call_update', 'completed');
  report('tool_call', 'pending');
  report('tool_call_update', 'completed');
  const types = lines.map(({ type }) => type).filter((type) => type.startsWith('tool'));
  expect(types).toEqual(['tool_start', 'tool_end', 'tool_start', 'tool_end']);
});
