/** Sends datagrams to a UNIX socket. Node has none of these, so a small Perl program does it (decision 0008). */
import { startChild } from './child.ts';

const PROGRAM = `use Socket; my $to = shift; $to =~ s/^\\@/\\0/;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or exit 1;
while (my $line = <STDIN>) { chomp $line; $line =~ tr/\\t/\\n/; send($socket, $line, 0, pack_sockaddr_un($to)); }`;
/** The receiver may be full, and the program waits for it then. */
const LAST_MS = 2000;

export interface DatagramSender {
  /** Sends the lines as one datagram; none may contain a tab or a line break. */
  send(lines: readonly string[]): void;
  /** Resolves when its program has ended: nothing is sent any more. */
  readonly ended: Promise<unknown>;
  /** Ends after what was sent, or after two seconds. */
  stop(): Promise<void>;
}

/** `address` begins with `/`, or with `@` for the abstract namespace. The sender ends with this process. */
export async function startDatagramSender(perl: string, address: string): Promise<DatagramSender> {
  const child = await startChild({ file: perl, args: ['-e', PROGRAM, address], env: {}, cwd: '/' });
  child.unref();
  return {
    send: (lines) => void child.stdin.write(`${lines.join('\t')}\n`),
    ended: child.exited,
    async stop() {
      child.ref();
      child.stdin.end();
      const late = setTimeout(() => child.kill('SIGKILL'), LAST_MS);
      await child.exited;
      clearTimeout(late);
    },
  };
}
