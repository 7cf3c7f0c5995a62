/** Notices to systemd about what a daemon does, where systemd asked for them. */
import { isExecutable, runBounded, startDatagramSender } from '@caisson/ground';

const PERL = '/usr/bin/perl';
const SYSTEMD_NOTIFY = '/usr/bin/systemd-notify';
const NOTIFY_LIMIT_MS = 5000;
const MAX_RESTARTS = 5;
/** So many within this time: who kills it does not stop. */
const RESTARTS_WITHIN_MS = 600_000;
const ALIVE: readonly string[] = ['WATCHDOG=1'];

/** What sends: the first of them that is there. */
interface Programs {
  readonly perl: string;
  readonly notify: string;
}

const PROGRAMS: Programs = { perl: PERL, notify: SYSTEMD_NOTIFY };

type Environment = Readonly<Record<string, string | undefined>>;

export interface SystemdNotifier {
  ready(): void;
  reloading(): void;
  stopping(): void;
  /** How often `alive` must be called; null where systemd does not watch. */
  readonly aliveEveryMs: number | null;
  alive(): void;
  stop(): Promise<void>;
}

/** Nothing is sent without a NOTIFY_SOCKET. */
export async function startSystemdNotifier(
  env: Environment,
  warn: (message: string) => void,
  programs = PROGRAMS,
): Promise<SystemdNotifier> {
  const sender = await findSender({ address: env['NOTIFY_SOCKET'] ?? '', programs, warn });
  return {
    ready: () => sender.send(['READY=1']),
    reloading: () => sender.send(['RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`]),
    stopping: () => sender.send(['STOPPING=1']),
    aliveEveryMs: findAliveEveryMs(env),
    alive: () => sender.send(ALIVE),
    stop: () => sender.stop(),
  };
}

/** Half of the time after which systemd would act, as its manual asks. */
function findAliveEveryMs(env: Environment): number | null {
  const pid = env['WATCHDOG_PID'] ?? '';
  const limitMs = Number(env['WATCHDOG_USEC'] ?? '') / 1000;
  const isOurs = pid === '' || pid === String(process.pid);
  return isOurs && limitMs > 0 ? limitMs / 2 : null;
}

interface Sender {
  send(lines: readonly string[]): void;
  stop(): Promise<void>;
}

const NOBODY: Sender = { send: () => undefined, stop: () => Promise.resolve() };

interface Receiver {
  readonly address: string;
  readonly programs: Programs;
  warn(message: string): void;
}

async function findSender(to: Receiver): Promise<Sender> {
  const { perl } = to.programs;
  if (!/^[/@]/.test(to.address)) return NOBODY;
  return isExecutable(perl) ? await createLastingSender(to) : findOtherSender(to, `there is no ${perl}`);
}

function findOtherSender(to: Receiver, why: string): Sender {
  const { notify } = to.programs;
  if (isExecutable(notify)) return createNotifySender(to);
  to.warn(`systemd gets no notices: ${why}, and there is no ${notify}`);
  return NOBODY;
}

/** If the program behind it is killed, it is started again: systemd kills a daemon that does not report. */
async function createLastingSender(to: Receiver): Promise<Sender> {
  let isStopping = false;
  let restartsMs: readonly number[] = [];
  let standing: readonly string[] | null = null;
  let current: Sender = NOBODY;
  let change: Promise<void> = Promise.resolve();
  const start = async (): Promise<void> => {
    const sender = await startDatagramSender(to.programs.perl, to.address);
    current = sender;
    void sender.ended.then(() => {
      if (!isStopping) change = replace();
    });
  };
  const replace = async (): Promise<void> => {
    const nowMs = performance.now();
    restartsMs = [...restartsMs.filter((atMs) => nowMs - atMs < RESTARTS_WITHIN_MS), nowMs];
    const problem =
      restartsMs.length > MAX_RESTARTS
        ? 'the program that sends them was killed too often'
        : await start().then(() => null, describeFailedStart);
    if (problem !== null) current = findOtherSender(to, problem);
    for (const lines of [standing, ALIVE]) if (lines !== null) current.send(lines); // what was lost with it
  };
  await start();
  return {
    send(lines) {
      if (lines !== ALIVE) standing = lines;
      current.send(lines);
    },
    async stop() {
      isStopping = true;
      await change;
      await current.stop();
    },
  };
}

function describeFailedStart(error: unknown): string {
  return `the program that sends them could not be started again: ${(error as Error).message}`;
}

/** One process a notice, one after the other. */
function createNotifySender({ address, programs, warn }: Receiver): Sender {
  let last: Promise<unknown> = Promise.resolve();
  const sendOne = async (lines: readonly string[]): Promise<void> => {
    await runBounded({
      file: programs.notify,
      args: lines,
      env: { NOTIFY_SOCKET: address },
      timeoutMs: NOTIFY_LIMIT_MS,
      maxOutputBytes: 4096,
    }).catch((error: unknown) => warn(`systemd gets no notices: ${(error as Error).message}`));
  };
  return {
    send: (lines) => void (last = last.then(() => sendOne(lines))),
    stop: async () => void (await last),
  };
}
