import { expect, it } from 'vitest';
import { findSilence, findStallReason, type StallSignals } from './stall-reason.ts';

const QUIET: StallSignals = {
  isWaitingForPermission: false,
  isModelFailing: false,
  waiting: null,
  openTool: null,
  cpuShare: 0,
  usesModel: true,
};

it.each<[string, Partial<StallSignals>]>([
  ['model-silent', {}],
  ['in-tool', { usesModel: false }],
  ['in-tool', { openTool: 'Bash' }],
  ['model-failing', { isModelFailing: true, cpuShare: 0.9 }],
  ['stopped', { waiting: 'stopped', openTool: 'Bash' }],
  ['spinning', { cpuShare: 0.9, waiting: 'stopped' }],
  ['waiting-stdin', { waiting: 'stdin', cpuShare: 0.9 }],
  ['exited-but-pipe-open', { waiting: 'pipe-open' }],
  ['waiting-permission', { isWaitingForPermission: true, waiting: 'stdin' }],
])('%s from %j', (reason, signals) => {
  expect(findStallReason({ ...QUIET, ...signals }).reason).toBe(reason);
});

it('no words about a model are said to a plain command', () => {
  expect(findStallReason({ ...QUIET, usesModel: false }).detail).not.toContain('model');
});

it.each([
  ['T', 'stopped'],
  ['S', 'gone'],
  ['Z', 'gone'],
  [null, 'gone'],
])('a worker in state %s that does not report is %s', (state, reason) => {
  expect(findSilence(state).reason).toBe(reason);
});
