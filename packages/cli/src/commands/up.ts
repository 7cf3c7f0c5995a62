import { describeUnit, endForNext, startDaemon, type ReplacedDaemon } from '@caisson/engine';
import { definedOnly, type DaemonStatus } from '@caisson/protocol';
import { usesDaemon } from '../daemon-choice.ts';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { listBlocked } from '../format-residents.ts';
import { textLines, type Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { agreeFirst, warnUnread } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--detach] [--replace] | --print-unit',
  about:
    'A daemon carries out the runs of this project, also when the terminal that started them is closed, and does what is\n' +
    'due while nobody is there: cleans up, seals, expires questions, sends callbacks again, settles what dead processes\n' +
    'left. There is one per project. In the foreground it prints a line when a run starts and when it ends; Ctrl-C\n' +
    'stops its runs, keeps their work and ends it, and a second one forces. SIGTERM, SIGHUP and a daemon that dies leave running\n' +
    'agents to the next daemon: it adopts them if it comes within limits.adoptWithin.',
  options: {
    detach: {
      type: 'boolean',
      short: 'd',
      summary: 'start it in the background, and return when it answers',
    },
    replace: {
      type: 'boolean',
      summary:
        'if a daemon serves the project, end it and adopt its running agents; runs that have no agent yet are stopped; it goes on if this one could not start',
    },
    'print-unit': {
      type: 'boolean',
      summary: 'print a systemd user unit for this project, and start nothing',
    },
  },
  examples: [
    { line: 'caisson up -d', says: 'Serve this project in the background; caisson down ends it.' },
    { line: 'caisson up', says: 'Serve it in this terminal.' },
    {
      line: 'caisson up -d --replace',
      says: 'A new daemon, such as one of a new version; running agents go on.',
    },
    {
      line: 'caisson up --print-unit > ~/.config/systemd/user/caisson-app.service',
      says: 'Then: systemctl --user enable --now caisson-app.',
    },
  ],
  async run({ options, output }) {
    const { detach, replace, 'print-unit': printUnit, 'state-dir': stateDir } = options;
    if ((detach || replace) && printUnit)
      throw new UsageError('--print-unit starts nothing', { remedy: 'Use it alone.' });
    if (!usesDaemon()) throw new UsageError('--no-daemon starts none', { remedy: 'Leave it out.' });
    const entry = process.argv[1] ?? '';
    if (printUnit) {
      const unit = await describeUnit({ entry, stateDir, onUnread: warnUnread(output) });
      output.result({ unit }, () => textLines(unit.trimEnd()));
      return EXIT_CODES.finished;
    }
    await agreeFirst(stateDir, output);
    const replaced = replace ? await endForNext({ stateDir }) : null;
    if (replaced !== null)
      output.note(`note: ended ${replaced.daemon}${describeRunning(replaced)}${describeQueued(replaced)}`);
    if (detach) {
      const status = await startDaemon({
        entry,
        stateDir,
        onSlow: (log) => output.note(`note: the daemon is still starting; what it does: ${log}`),
      });
      output.result({ ...status, ...definedOnly({ replaced: replaced ?? undefined }) }, () =>
        describeStarted(status),
      );
      return EXIT_CODES.finished;
    }
    const { serveHere } = await import('../serve-here.ts');
    return await serveHere(stateDir, output);
  },
});

function describeRunning({ running, isAdopted }: ReplacedDaemon): string {
  if (running === 0) return '';
  const agents = running === 1 ? 'its running agent' : `its ${running} running agents`;
  return isAdopted
    ? `; ${agents} ${running === 1 ? 'goes on, and is' : 'go on, and are'} adopted`
    : `; ${agents} ${running === 1 ? 'was' : 'were'} stopped with it, because limits.adoptWithin is 0s`;
}

function describeQueued({ queued }: ReplacedDaemon): string {
  if (queued === 0) return '';
  return queued === 1
    ? '; 1 run that had no agent yet was stopped (caisson retry starts it again)'
    : `; ${queued} runs that had no agent yet were stopped (caisson retry starts them again)`;
}

function describeStarted({ pid, log, projectRoot, residents }: DaemonStatus): Lines {
  return [
    `Serving ${projectRoot} in the background (pid ${pid}). To end it: caisson down.`,
    ...(log === null ? [] : [`Log: ${log}`]),
    ...listBlocked(residents),
  ];
}
