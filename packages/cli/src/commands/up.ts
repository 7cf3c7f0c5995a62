import { describeUnit, startDaemon } from '@caisson/engine';
import type { DaemonStatus } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { textLines, type Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { agreeFirst } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--detach | --print-unit]',
  about:
    'A daemon carries out the runs of this project, also when the terminal that started them is closed, and does what is\n' +
    'due while nobody is there: cleans up, seals, expires questions, sends callbacks again, settles what dead processes\n' +
    'left. There is one per project. In the foreground it prints a line when a run starts and when it ends; Ctrl-C or\n' +
    'SIGTERM stops its runs, keeps their work and ends it, and a second one forces.',
  options: {
    detach: {
      type: 'boolean',
      short: 'd',
      summary: 'start it in the background, and return when it answers',
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
      line: 'caisson up --print-unit > ~/.config/systemd/user/caisson-app.service',
      says: 'Then: systemctl --user enable --now caisson-app.',
    },
  ],
  async run({ options, output }) {
    const { detach, 'print-unit': printUnit, 'state-dir': stateDir } = options;
    if (detach && printUnit)
      throw new UsageError('--detach starts a daemon and --print-unit starts nothing', {
        remedy: 'Use only one of them.',
      });
    const entry = process.argv[1] ?? '';
    if (printUnit) {
      const unit = await describeUnit({ entry, stateDir });
      output.result({ unit }, () => textLines(unit.trimEnd()));
      return EXIT_CODES.finished;
    }
    await agreeFirst(stateDir, output);
    if (detach) {
      const status = await startDaemon({ entry, stateDir });
      output.result(status, () => describeStarted(status));
      return EXIT_CODES.finished;
    }
    const { serveHere } = await import('../serve-here.ts');
    return await serveHere(stateDir, output);
  },
});

function describeStarted({ pid, log, projectRoot }: DaemonStatus): Lines {
  return [
    `Serving ${projectRoot} in the background (pid ${pid}). To end it: caisson down.`,
    ...(log === null ? [] : [`Log: ${log}`]),
  ];
}
