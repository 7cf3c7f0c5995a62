/** Events of residents in words. */
import type { EnvelopeHandlers, EventType } from '@caisson/protocol';
import { findCause } from './find-cause.ts';
import { formatDuration } from './format-values.ts';
import { oneLine } from './format-work.ts';

type ResidentType = Extract<
  EventType,
  `${'resident' | 'sense' | 'signal' | 'thread' | 'schedule'}.${string}`
>;

/** On one line, whatever the user's code put into it. */
const say = (...words: (string | undefined)[]): string =>
  oneLine(words.filter((word) => word !== undefined && word !== '').join(' · '));

const brief = (value: unknown): string =>
  value === undefined ? '' : (JSON.stringify(value) ?? '').slice(0, 160);

export const RESIDENT_WORDS: Pick<EnvelopeHandlers<string>, ResidentType> = {
  'resident.started': ({ key, startMs, isNewVersion }) =>
    say(
      key,
      isNewVersion === true ? 'loaded the new version' : undefined,
      `ready after ${formatDuration(startMs)}`,
    ),
  'resident.ended': ({ key, why, detail, respawnMs }) =>
    say(
      key,
      why,
      findCause(detail),
      respawnMs === undefined ? undefined : `starts again in ${formatDuration(respawnMs)}`,
    ),
  'resident.blocked': ({ key, crashes, windowMs, detail }) =>
    say(key, `${crashes} crashes in ${formatDuration(windowMs)}`, detail),
  'resident.reset': ({ key }) => say(key),
  'resident.logged': ({ name, text }) => say(`${name}: ${text}`),
  'sense.computed': ({ sense, cause, durationMs, signals, failure }) =>
    say(sense, `by ${cause}`, formatDuration(durationMs), signals.join(', '), findCause(failure ?? '')),
  'signal.emitted': ({ name, sense, payload, listeners }) =>
    say(`${name} by ${sense}`, brief(payload), `to ${listeners.join(', ')}`),
  'signal.dropped': ({ name, sense, endedRun, why, listener, count }) =>
    say(`${name} by ${sense ?? endedRun}`, why, listener, count === 1 ? undefined : `${count} times`),
  'thread.accepted': ({ workflow, trigger, payload }) => say(workflow, `by ${trigger.kind}`, brief(payload)),
  'thread.started': () => '',
  'thread.step-started': ({ round, kind, runIds, questionId, until }) =>
    say(`round ${round}`, kind, runIds?.join(', '), questionId, until),
  'thread.step-ended': ({ round, ok, value }) => say(`round ${round}`, ok ? 'done' : 'failed', brief(value)),
  'thread.message': ({ round, role, content }) => say(`round ${round}`, role, brief(content)),
  'thread.ended': ({ status, detail, rounds, durationMs }) =>
    say(status, `${rounds} rounds`, formatDuration(durationMs), detail),
  'schedule.fired': ({ schedule, slot, isCatchUp, startedRun, startedThread, problem }) =>
    say(schedule, slot, isCatchUp ? 'late' : undefined, startedRun ?? startedThread, problem),
};
