/** What was asked of a run, and with what it ran. */
import type { DispatchResult, EnvelopeOf } from '@caisson/protocol';
import { labelled } from './format-ending.ts';
import { describeUnenforced } from './format-limits.ts';
import { textLines, type Line } from './painted.ts';

const MAX_TASK_LINES = 20;

/** The task and what was said beside it. */
export function describeAsked(
  result: DispatchResult,
  accepted: EnvelopeOf<'dispatch.accepted'> | undefined,
): Line[] {
  if (accepted === undefined) return [];
  const { description, acceptance, scope = [], branch, priority } = accepted.task;
  const { continues } = result;
  return [
    ...cutLines(description, MAX_TASK_LINES, `all: caisson logs ${result.runId} -o ndjson`),
    ...(acceptance === undefined ? [] : labelled('done when', acceptance)),
    ...(scope.length === 0 ? [] : [`scope: ${scope.join(', ')}`]),
    ...(accepted.repository === undefined ? [] : [`repository: ${accepted.repository.remote}`]),
    ...(branch === undefined
      ? []
      : [`branch: ${branch}${accepted.repository?.push === true ? ', to be pushed' : ''}`]),
    `priority: ${priority} of 1 to 10`,
    ...(accepted.parent === undefined ? [] : [`started by: ${accepted.parent}`]),
    ...describeSchedule(accepted.schedule),
    ...(continues === undefined ? [] : [`continues: ${continues.runId}`]),
    ...(continues?.question === undefined ? [] : labelled('question', continues.question)),
    ...(continues?.answer === undefined ? [] : labelled('answer', continues.answer)),
  ];
}

function describeSchedule(schedule: EnvelopeOf<'dispatch.accepted'>['schedule']): Line[] {
  if (schedule === undefined) return [];
  const { name, slot, isCatchUp = false } = schedule;
  return [`schedule: ${name}, ${slot}${isCatchUp ? ', which was missed' : ''}`];
}

function cutLines(text: string, max: number, where: string): Line[] {
  const lines = textLines(text.trimEnd());
  return lines.length <= max
    ? lines
    : [...lines.slice(0, max), `… ${lines.length - max} more lines; ${where}`];
}

/** Everything that was resolved before it ran. */
export function describeRan(
  result: DispatchResult,
  accepted: EnvelopeOf<'dispatch.accepted'> | undefined,
): string[] {
  if (accepted === undefined) return [];
  const { runtime, grant, inputs = [] } = accepted;
  const { agent, capabilities, env, pipeline, model } = result.resolved;
  const named = (label: string, item: { name: string; hash: string }): string =>
    `${label}: ${item.name} sha256:${item.hash.slice(0, 16)}`;
  return [
    `runtime: ${runtime}`,
    ...(agent === undefined ? [] : [named('agent', agent)]),
    ...capabilities.map((capability) => named('capability', capability)),
    ...env.map((bundle) => named('env', bundle)),
    ...inputs.map(({ key, sha256 }) => named('input', { name: key, hash: sha256 })),
    ...(pipeline === undefined ? [] : [named('pipeline', { name: pipeline.id, hash: pipeline.hash })]),
    ...(runtime === 'command' ? [] : [describeModel(model)]),
    `grant: ${grant.mode}, sandbox ${grant.sandbox}, hosts ${grant.hosts.join(' ') || 'none'}`,
    ...describeLimits(result),
  ];
}

function describeModel({ requested, served }: DispatchResult['resolved']['model']): string {
  const asked = requested || '(the runtime chose)';
  const isAsAsked = served.length === 1 && served[0] === requested;
  return `model: ${asked}${served.length === 0 || isAsAsked ? '' : `, served by ${served.join(', ')}`}`;
}

/** Defaults that this machine could not enforce are recorded, and shown. */
function describeLimits({ result }: DispatchResult): string[] {
  const { grant, enforced } = result?.policy ?? {};
  const unenforced = describeUnenforced(grant?.limits ?? {}, enforced ?? {});
  return unenforced === null ? [] : [unenforced];
}
