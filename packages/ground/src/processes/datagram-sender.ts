/** Sends datagrams to a UNIX socket. Node has none of these, so a small Perl program does it (decision 0008). */
import { startChild } from './child.ts';

const PROGRAM = `use Socket; my $to = shift; $to =~ s/^\\@/\\0/;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or exit 1;
while (my $line = <STDIN>) { chomp $line; $line =~ tr/\\t/\\n/; send($socket, $line, 0, pack_sockaddr_un($to)); }`;

export interface DatagramSender {
  /** Sends the lines as one datagram; none may contain a tab or a line break. */
  send(lines: readonly string[]): void;
  /** Ends after what was sent. */
  stop(): Promise<void>;
}

/** `address` begins with `/`, or with `@` for the abstract namespace. The sender ends with this process. */
export async function startDatagramSender(perl: string, address: string): Promise<DatagramSender> {
  const child = await startChild({ file: perl, args: ['-e', PROGRAM, address], env: {}, cwd: '/' });
  child.unref();
  return {
    send: (lines) => void child.stdin.write(`${lines.join('\t')}\n`),
    async stop() {
      child.ref();
      child.stdin.end();
      await child.exited;
    },
  };
}
