/** What an agent said and did, as `run` shows it live and `show` afterwards: its words, and one line a tool call. */
import { definedOnly, type EnvelopeOf, type EventEnvelope } from '@caisson/protocol';
import { cutToWidth, formatBytes, formatDuration, widthOf } from './format-values.ts';
import { line, type Lines, type Style } from './painted.ts';
import { createRepeatedTrouble } from './repeated-trouble.ts';
import { wrapText } from './wrap-text.ts';

/** A tool call, and how it ended if it has. */
export interface ShownCall {
  readonly started: EnvelopeOf<'tool.started'>;
  readonly ended?: EnvelopeOf<'tool.ended'>;
}

export interface WorkFormat {
  readonly style: Style;
  readonly columns: number;
  /** Lines of one text that are shown. */
  readonly maxLines: number;
}

/** Before each line of an agent: it cannot be taken for a tool call or for a line of ours. */
const SAID = '│ ';

/** The first lines of what the agent said; a wait in yellow. */
export function formatSaid(
  { text, cutBytes = 0, isWaiting }: EnvelopeOf<'agent.said'>,
  { style, columns, maxLines }: WorkFormat,
): Lines {
  const lines = text
    .trim()
    .split('\n')
    .flatMap((one) => wrapText(one, columns - SAID.length));
  const shown = lines.slice(0, maxLines);
  const rest = lines.length - shown.length;
  const more = [
    ...(rest === 0 ? [] : [`${rest} more ${rest === 1 ? 'line' : 'lines'}`]),
    ...(cutBytes === 0 ? [] : [`${formatBytes(cutBytes)} not recorded`]),
  ];
  return [
    ...shown.map((one) => line`${style.dim(SAID)}${isWaiting === true ? style.yellow(one) : one}`),
    ...(more.length === 0 ? [] : [style.dim(`… ${more.join(', ')}`)]),
  ];
}

/** One line, and below it the end of what a failed call printed. */
export function formatCall({ started, ended }: ShownCall, { style, columns, maxLines }: WorkFormat): Lines {
  const mark = ended === undefined ? '…' : ended.ok ? style.green('✓') : style.red('✗');
  const took = ended === undefined ? '' : `  ${formatDuration(ended.durationMs)}`;
  const words = cutToWidth(describeCall(started), columns - 2 - widthOf(took));
  const detail = ended?.detail === undefined ? [] : lastLines(ended.detail, maxLines);
  return [
    line`${mark} ${words}${style.dim(took)}`,
    ...detail.map((text) => style.dim(cutToWidth(`    ${text}`, columns))),
  ];
}

export function describeCall({ tool, what }: Pick<EnvelopeOf<'tool.started'>, 'tool' | 'what'>): string {
  const words = unwrap(what);
  return words === '' ? tool : `${tool}  ${oneLine(words)}`;
}

/** Codex runs every command in a shell of its own, as one word that is quoted where it must be. */
const WRAPPED = /^(?:\/\S+\/)?(?:ba|z)?sh -l?c ((?:'[^']*'|"(?:[^"\\]|\\[^])*"|[^\s'"\\])+)$/;

function unwrap(what: string): string {
  const word = WRAPPED.exec(what)?.[1];
  return (
    word?.replaceAll(
      /'([^']*)'|"((?:[^"\\]|\\[^])*)"/g,
      (_, single?: string, double = '') => single ?? String(double).replaceAll(/\\([$`"\\])/g, '$1'),
    ) ?? what
  );
}

/** A request that brought no answer; what follows an answer shows it. */
export function formatModelTrouble(
  { outcome, detail, durationMs }: EnvelopeOf<'model.called'>,
  { style, columns }: Pick<WorkFormat, 'style' | 'columns'>,
): Lines {
  if (outcome === 'answered' || outcome === 'left') return [];
  const why = outcome === 'empty' ? 'the model answered nothing' : (detail ?? 'the model did not answer');
  const words = `${why} (after ${formatDuration(durationMs)})`;
  return wrapText(words, columns).map((text) => style.yellow(text));
}

/** The whole work of a run, in the order in which it began. */
export function formatTranscript(events: readonly EventEnvelope[], format: WorkFormat): Lines {
  const ends = pairCalls(events);
  const acceptedAt = Date.parse(events[0]?.at ?? '');
  const trouble = createRepeatedTrouble();
  const repeats = (count: string | null): Lines =>
    count === null ? [] : [line`${' '.repeat(11)}${format.style.yellow(count)}`];
  const shown = events.flatMap((event) => {
    const { isRepeat, before } = trouble.take(event);
    const lines = isRepeat ? [] : formatWork(event, ends, format);
    const offset = `${((Date.parse(event.at) - acceptedAt) / 1000).toFixed(1).padStart(7)} s  `;
    return [
      ...repeats(before),
      ...lines.map((text, index) => line`${index === 0 ? format.style.dim(offset) : ' '.repeat(11)}${text}`),
    ];
  });
  return [...shown, ...repeats(trouble.end())];
}

/** Each start with the next end of its id: an agent may use an id again. */
function pairCalls(events: readonly EventEnvelope[]): Ends {
  const ends = new Map<EventEnvelope, EnvelopeOf<'tool.ended'>>();
  const next = new Map<string, EnvelopeOf<'tool.ended'>>();
  for (const event of events.toReversed()) {
    if (event.type === 'tool.ended') next.set(keyOf(event), event);
    if (event.type !== 'tool.started') continue;
    const ended = next.get(keyOf(event));
    if (ended !== undefined) ends.set(event, ended);
    next.delete(keyOf(event));
  }
  return ends;
}

type Ends = ReadonlyMap<EventEnvelope, EnvelopeOf<'tool.ended'>>;

function formatWork(event: EventEnvelope, ends: Ends, format: WorkFormat): Lines {
  switch (event.type) {
    case 'agent.said':
      return formatSaid(event, format);
    case 'tool.started': {
      const ended = ends.get(event);
      return formatCall({ started: event, ...definedOnly({ ended }) }, format);
    }
    case 'model.called':
      return formatModelTrouble(event, format);
    case 'work.gap':
      return [format.style.yellow(describeGap(event))];
    case 'attempt.ended':
      return [format.style.dim(`attempt ${event.attempt} ended; ${event.nextAttempt} follows`)];
    default:
      return [];
  }
}

export function describeGap({ count, types }: EnvelopeOf<'work.gap'>): string {
  const each = Object.entries(types).map(([type, times]) => `${times} ${type}`);
  return `${count} more events of this attempt are not recorded: ${each.join(', ')}`;
}

/** Whether the transcript shows the event. */
export function isWork({ type }: EventEnvelope): boolean {
  return type === 'tool.started' || type === 'tool.ended' || type === 'agent.said' || type === 'model.called';
}

const keyOf = ({ attempt, callId }: EnvelopeOf<'tool.started' | 'tool.ended'>): string =>
  `${attempt} ${callId}`;

export function oneLine(text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, ' ⏎ ');
}

function lastLines(text: string, count: number): string[] {
  const lines = text.split('\n').filter((one) => one.trim() !== '');
  return lines.slice(-count);
}
