/** `caisson show`: what was asked, what ran, what happened, what came out, what it cost, how to apply it. */
import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { formatEnding } from './format-ending.ts';
import { formatBytes } from './format-values.ts';
import type { Output } from './output.ts';
import { printable, printableText } from './printable.ts';

export function formatRun(
  result: DispatchResult,
  events: readonly EventEnvelope[],
  style: Output['style'],
): string {
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  const sections = [
    section('Asked', describeAsked(accepted), style),
    section('Ran', describeRan(result, accepted), style),
    section('Happened', describeTimeline(events), style),
    section(
      'Came out',
      isForgotten(events) ? ['Its contents were taken away (caisson forget).'] : describeOutcome(result),
      style,
    ),
    section('Told', (result.callbacks ?? []).map(describeCallback), style),
    section('Ended', formatEnding({ ...result, reply: '' }, style).split('\n'), style),
  ];
  return sections.filter((text) => text !== '').join('\n\n');
}

function isForgotten(events: readonly EventEnvelope[]): boolean {
  return events.some((event) => event.type === 'run.forgotten');
}

function section(title: string, lines: readonly string[], style: Output['style']): string {
  return lines.length === 0 ? '' : [style.bold(title), ...lines.map((line) => `  ${line}`)].join('\n');
}

function describeAsked(accepted: EventEnvelope | undefined): string[] {
  const task = accepted?.['task'] as
    | { description?: string; acceptance?: string; scope?: string[] }
    | undefined;
  if (task === undefined) return [];
  const lines = printableText(task.description ?? '')
    .split('\n')
    .slice(0, 20);
  if (task.acceptance !== undefined) lines.push(`done when: ${task.acceptance}`);
  if ((task.scope ?? []).length > 0) lines.push(`scope: ${(task.scope ?? []).join(', ')}`);
  if (typeof accepted?.['continues'] === 'string') lines.push(`continues: ${accepted['continues']}`);
  return lines;
}

function describeRan(result: DispatchResult, accepted: EventEnvelope | undefined): string[] {
  const grant = accepted?.['grant'] as { mode: string; sandbox: string; hosts: string[] } | undefined;
  const inputs = (accepted?.['inputs'] ?? []) as readonly { key: string; sha256: string }[];
  const { agent, capabilities, env, pipeline, model } = result.resolved;
  const named = (label: string, item: { name: string; hash: string }): string =>
    `${label}: ${item.name} sha256:${item.hash.slice(0, 16)}`;
  return [
    `runtime: ${typeof accepted?.['runtime'] === 'string' ? accepted['runtime'] : '-'}`,
    ...(agent === undefined ? [] : [named('agent', agent)]),
    ...capabilities.map((capability) => named('capability', capability)),
    ...env.map((bundle) => named('env', bundle)),
    ...inputs.map(({ key, sha256 }) => named('input', { name: key, hash: sha256 })),
    ...(pipeline === undefined ? [] : [`pipeline: ${pipeline.id} sha256:${pipeline.hash.slice(0, 16)}`]),
    ...(accepted?.['runtime'] === 'command'
      ? []
      : [
          `model: ${model.requested || '(the runtime chose)'}${model.served.length === 0 ? '' : `, served by ${model.served.join(', ')}`}`,
        ]),
    ...(grant === undefined
      ? []
      : [`grant: ${grant.mode}, sandbox ${grant.sandbox}, hosts ${grant.hosts.join(' ') || 'none'}`]),
    ...describeUnheldLimits(result),
  ];
}

/** Defaults that this machine could not enforce are recorded, and told. */
function describeUnheldLimits({ result }: DispatchResult): string[] {
  if (result === null || result.policy.enforced['cgroup'] !== false) return [];
  const { memory, cpus, pids } = result.policy.grant.limits;
  const unheld = Object.entries({ memory, cpus, pids }).flatMap(([name, limit]) =>
    limit === undefined ? [] : [name],
  );
  return unheld.length === 0
    ? []
    : [`limits: ${unheld.join(', ')} not enforced here (caisson doctor says why)`];
}

function describeTimeline(events: readonly EventEnvelope[]): string[] {
  const first = Date.parse(events[0]?.at ?? '');
  return events.map((event) => {
    const offset = ((Date.parse(event.at) - first) / 1000).toFixed(3).padStart(9);
    return `${offset} s  ${String(event.seq).padStart(3)}  ${event.type}${describeEvent(event)}`;
  });
}

function describeEvent(event: EventEnvelope): string {
  const failure = event['failure'] as { reason?: string; cause?: string } | undefined;
  if (failure !== undefined)
    return ` ${failure.reason ?? ''}${failure.cause === undefined ? '' : ` (${failure.cause})`}`;
  if (event.type === 'script.ran') return ` ${String(event['lens'])} exit ${String(event['exitCode'])}`;
  if (event.type === 'runtime.adapter.ran') return ` exit ${String(event['exitCode'])}`;
  if (event.type === 'capture.done') return ` ${String(event['what'])}: ${countFiles(event['files'])}`;
  if (event.type === 'policy.denied') return ` ${printable((event['denial'] as { what: string }).what)}`;
  if (event.type === 'run.stalled') return ` ${String(event['reason'])}`;
  if (event.type === 'network.connection') return ` ${String(event['verdict'])} ${String(event['target'])}`;
  return '';
}

function describeCallback({ url, event, status, tries, detail }: Callback): string {
  const count = `${tries} ${tries === 1 ? 'try' : 'tries'}`;
  const word = status === 'pending' ? 'UNDELIVERED' : status;
  return `${word}  ${event} to ${url} (${count}${detail === undefined ? '' : `, ${detail}`})`;
}

type Callback = NonNullable<DispatchResult['callbacks']>[number];

function countFiles(count: unknown): string {
  return count === 1 ? '1 file' : `${String(count)} files`;
}

function describeOutcome(result: DispatchResult): string[] {
  const lines =
    result.reply.trim() === '' ? [] : printableText(result.reply.trimEnd()).split('\n').slice(0, 40);
  const sealed = result.result;
  if (sealed === null) return lines;
  lines.push(
    `stdout ${formatBytes(sealed.logs.stdout.bytes)}, stderr ${formatBytes(sealed.logs.stderr.bytes)}: caisson logs ${result.runId} --stdout`,
  );
  for (const denial of sealed.policy.denials)
    lines.push(`denied by ${denial.layer}: ${printable(denial.what)}`);
  return lines;
}
