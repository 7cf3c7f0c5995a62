import { closeFace, findDaemon, openFace, openInBrowser, startDaemon } from '@caisson/engine';
import { definedOnly, ListenAddress, type FaceOrder, type FaceStanding } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import type { Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { agreeFirst, warnUnread } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--port N | --listen ADDRESS] [--no-open] | --stop',
  about:
    'Opens the dashboard in your browser: what runs, what waits for you, the diff of each run, and what it costs. The daemon of\n' +
    'the project serves it, on the loopback address, and is started where there is none. The link signs one page\n' +
    'in, once and within five minutes; the page stays signed in for twelve hours, or until you sign out. The daemon goes on\n' +
    'listening, also after a restart, until --stop or caisson down, and takes the same port again afterwards. Programs use a\n' +
    'token instead: caisson tokens create. Beyond the loopback address there is only HTTPS: --listen then needs\n' +
    'api.certificate and api.key in your own config.yaml.',
  options: {
    port: {
      type: 'string',
      value: 'N',
      summary: 'listen on this port; default: the last one, or a free one',
    },
    listen: {
      type: 'string',
      value: 'ADDRESS',
      summary: 'listen on this IP address, or ADDRESS:PORT; default: the last one, or 127.0.0.1',
    },
    'no-open': { type: 'boolean', summary: 'print the link, and open no browser' },
    stop: { type: 'boolean', summary: 'listen no more; the daemon goes on' },
  },
  examples: [
    { line: 'caisson ui', says: 'Open the dashboard of this project.' },
    { line: 'caisson ui --no-open -o json', says: 'Print the address and a link, for a program.' },
    {
      line: 'caisson ui --port 8417 --no-open',
      says: 'For a tunnel from another machine: ssh -L 8417:127.0.0.1:8417 HOST, then open the link there.',
    },
    { line: 'caisson ui --stop', says: 'Close the port.' },
  ],
  async run({ options, output }) {
    const { port, listen, stop, 'no-open': staysClosed, 'state-dir': stateDir } = options;
    if (stop) {
      await closeFace({ stateDir, onUnread: warnUnread(output) });
      output.result({ url: null }, () => ['The dashboard is no longer served.']);
      return EXIT_CODES.finished;
    }
    const order = readOrder(port, listen);
    await startWhereNone(stateDir, output);
    const face = await openFace({ stateDir, ...order });
    const isOpened = !staysClosed && output.isInteractive && (await openInBrowser(face.link, { stateDir }));
    output.result(face, () => describe(face, isOpened));
    return EXIT_CODES.finished;
  },
});

function readOrder(port: string | undefined, listen: string | undefined): FaceOrder {
  if (listen !== undefined && !ListenAddress.safeParse(listen).success)
    throw new UsageError(`--listen must be an IP address, with or without a port, not ${listen}`, {
      remedy: 'For example 127.0.0.1:8417, or [::1]:8417.',
    });
  return definedOnly({ listen, port: port === undefined ? undefined : readPort(port) });
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new UsageError(`--port must be a number from 1 to 65535, not ${text}`);
}

async function startWhereNone(stateDir: string | undefined, output: Output): Promise<void> {
  const standing = await findDaemon({ stateDir, onUnread: warnUnread(output) });
  if (standing.kind !== 'none') return;
  await agreeFirst(stateDir, output);
  const { pid } = await startDaemon({ entry: process.argv[1] ?? '', stateDir });
  output.note(`note: started a daemon (pid ${pid}); caisson down ends it`);
}

function describe({ url, link }: FaceStanding, isOpened: boolean): Lines {
  const opened = isOpened ? 'Opened in your browser. If nothing appears, open' : 'Open';
  return [`Serving the dashboard on ${url}`, `${opened} this link, once and within five minutes:`, link];
}
