import { END_UNSEEN_REMEDY, findDaemon, readDaemonMetrics, type DaemonStanding } from '@caisson/engine';
import type { DaemonStatus } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { listBlocked, listBroken, summariseResidents } from '../format-residents.ts';
import { cutToWidth, formatAge, formatDuration } from '../format-values.ts';
import { warnUnread } from '../with-caisson.ts';
import { line, textLines, type Line, type Lines, type Style } from '../painted.ts';

const MAX_LISTED = 10;
const MAX_TASK_COLUMNS = 80;

export const command = defineCommand({
  usage: '[--metrics]',
  about:
    'The daemon of this project: its process, since when it serves, the runs that it carries out, and its residents, threads\n' +
    'and schedules. Exit code 1 without a daemon, or when it does not answer.',
  options: {
    metrics: {
      type: 'boolean',
      summary: 'what the daemon counted since it began, as a page for Prometheus',
    },
  },
  examples: [
    { line: 'caisson status', says: 'Is there a daemon, and what does it do?' },
    { line: 'caisson status -o json', says: 'The same for a program.' },
    { line: 'caisson status --metrics', says: 'Runs by ending, durations, tokens and cost, for Prometheus.' },
  ],
  async run({ options, output }) {
    if (options.metrics === true) {
      const page = await readDaemonMetrics({ stateDir: options['state-dir'] });
      output.result({ page }, () => textLines(page));
      return EXIT_CODES.finished;
    }
    const standing = await findDaemon({ stateDir: options['state-dir'], onUnread: warnUnread(output) });
    output.result(toData(standing), () => format(standing, output.style));
    return standing.kind === 'answers' ? EXIT_CODES.finished : EXIT_CODES.failed;
  },
});

function toData(standing: DaemonStanding): unknown {
  if (standing.kind === 'answers') return { daemon: 'answers', ...standing.status };
  if (standing.kind === 'none') return { daemon: 'none', waiting: standing.waiting };
  if (standing.kind === 'foreign') return { daemon: 'foreign', ...standing.identity };
  return { daemon: standing.isStopped ? 'stopped' : 'silent', ...standing.identity };
}

function format(standing: DaemonStanding, style: Style): Lines {
  if (standing.kind === 'none')
    return [
      'No daemon serves this project. To start one: caisson up -d',
      ...standing.waiting.map((runId) => `  ${runId} goes on for a while, until a daemon adopts it`),
    ];
  if (standing.kind === 'answers') return formatStatus(standing.status, style);
  const { pid, version } = standing.identity;
  if (standing.kind === 'foreign')
    return [
      `The daemon of this project has version ${version} (pid ${pid}), and this one does not understand its answer.`,
      'Replace it: caisson up -d --replace.',
    ];
  return standing.isStopped
    ? [
        `The daemon of this project is stopped (pid ${pid}).`,
        `Let it go on: kill -CONT ${pid}. Or replace it: caisson up -d --replace; its running agents go on.`,
      ]
    : [
        `The daemon of this project does not answer (pid ${pid}).`,
        standing.isHidden ? END_UNSEEN_REMEDY : `To end it: kill ${pid}`,
      ];
}

function formatStatus(status: DaemonStatus, { bold }: Style): Lines {
  const rows: [string, Line][] = [
    ['daemon', `${describePhase(status)}, pid ${status.pid}, version ${status.version}`],
    ['project', status.projectRoot],
    ['socket', status.socket],
    ...(status.url === undefined ? [] : [['dashboard', status.url] satisfies [string, Line]]),
    ...(status.log === null ? [] : [['log', status.log] satisfies [string, Line]]),
    ['runs', `${status.running} running, ${status.queued} queued${describeLimit(status)}`],
    ...summariseResidents(status),
  ];
  return [
    ...rows.map(([name, value]) => line`${bold(name.padEnd(9))} ${value}`),
    ...listBlocked(status.residents),
    ...listBroken(status.residents),
    ...listRuns(status),
  ];
}

function describeLimit({ concurrency }: DaemonStatus): string {
  return concurrency === undefined ? '' : `, at most ${concurrency} at once`;
}

function describePhase({ phase, uptimeMs, drainsUntil }: DaemonStatus): string {
  if (phase === 'serving') return `serving for ${formatDuration(uptimeMs)}`;
  if (phase === 'leaving') return 'leaving its runs to the next one';
  return drainsUntil === undefined ? 'stopping its runs' : `draining until ${drainsUntil}`;
}

function listRuns({ runs, running, queued }: DaemonStatus): Lines {
  const listed = runs.slice(0, MAX_LISTED);
  const more = running + queued - listed.length;
  return [
    ...listed.map(({ runId, status, task, acceptedAt }) => {
      const age = formatAge(Date.now() - Date.parse(acceptedAt));
      return `  ${runId}  ${status}  ${age}  ${cutToWidth(task.replaceAll(/\s+/g, ' '), MAX_TASK_COLUMNS)}`;
    }),
    ...(more > 0 ? [`  and ${more} more: caisson runs --status running`] : []),
  ];
}
