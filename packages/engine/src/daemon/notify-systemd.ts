/** Notices to systemd about what a daemon does, where systemd asked for them. */
import { isExecutable, runBounded, startDatagramSender } from '@caisson/ground';

const PERL = '/usr/bin/perl';
const SYSTEMD_NOTIFY = '/usr/bin/systemd-notify';
const NOTIFY_LIMIT_MS = 5000;
const MAX_RESTARTS = 5;
const ALIVE: readonly string[] = ['WATCHDOG=1'];

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
): Promise<SystemdNotifier> {
  const sender = await findSender(env['NOTIFY_SOCKET'] ?? '', warn);
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

async function findSender(address: string, warn: (message: string) => void): Promise<Sender> {
  if (!/^[/@]/.test(address)) return NOBODY;
  if (isExecutable(PERL)) return await createLastingSender(address, warn);
  return findOtherSender(address, 'there is no /usr/bin/perl', warn);
}

function findOtherSender(address: string, why: string, warn: (message: string) => void): Sender {
  if (isExecutable(SYSTEMD_NOTIFY)) return createNotifySender(address, warn);
  warn(`systemd gets no notices: ${why}, and no /usr/bin/systemd-notify`);
  return NOBODY;
}

/** If the program behind it is killed, it is started again: systemd kills a daemon that does not report. */
async function createLastingSender(address: string, warn: (message: string) => void): Promise<Sender> {
  let isStopping = false;
  let restarts = 0;
  let standing: readonly string[] | null = null;
  let current: Sender = NOBODY;
  let change: Promise<void> = Promise.resolve();
  const start = async (): Promise<void> => {
    const sender = await startDatagramSender(PERL, address);
    current = sender;
    void sender.ended.then(() => {
      if (!isStopping) change = replace();
    });
  };
  const replace = async (): Promise<void> => {
    restarts += 1;
    const isGone =
      restarts > MAX_RESTARTS ||
      (await start().then(
        () => false,
        () => true,
      ));
    if (isGone) current = findOtherSender(address, 'the program that sends them was killed too often', warn);
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

/** One process a notice, one after the other. */
function createNotifySender(address: string, warn: (message: string) => void): Sender {
  let last: Promise<unknown> = Promise.resolve();
  const sendOne = async (lines: readonly string[]): Promise<void> => {
    await runBounded({
      file: SYSTEMD_NOTIFY,
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
