/**
 * Whose connection on loopback it is: every account of the machine can connect there. The kernel names the user of each TCP
 * socket; a sandbox of ours has our user, whatever it is inside.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIPv4, type Socket } from 'node:net';
import { endianness } from 'node:os';

/** Programs with sockets of both kinds in one, as those of Java, are in the second. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const NO_INODE = '0';
const V4_IN_V6 = '0000000000000000FFFF0000';
const V6_WORDS = 4;
const WORD_BYTES = 4;

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

/** False for another user's socket and for one that is gone already. True where the kernel shows no sockets at all. */
export function isOwnPeer(socket: Ends): boolean {
  return isOwnIn(TABLES.map(readTable), socket);
}

/** The same for a host that must not wait: with many connections of others the tables are long. */
export async function findOwnPeer(socket: Ends): Promise<boolean> {
  const ends = { ...endsOf(socket) }; // a socket that closes meanwhile loses them
  const tables = await Promise.all(TABLES.map((path) => readFile(path, 'latin1').catch(() => '')));
  return isOwnIn(tables, ends);
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Ends): Ends {
  return { remoteAddress, remotePort, localAddress, localPort };
}

function isOwnIn(tables: readonly string[], socket: Ends): boolean {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (remotePort === undefined || localPort === undefined) return false;
  if (tables.every((table) => table === '')) return true;
  const [theirs, ours] = [endOf(remoteAddress, remotePort), endOf(localAddress, localPort)];
  const own = String(process.geteuid?.() ?? 0);
  return [`${theirs} ${ours} `, `${V4_IN_V6}${theirs} ${V4_IN_V6}${ours} `].some((pair) =>
    tables.some((table) => {
      const at = table.indexOf(` ${pair}`);
      if (at === -1) return false;
      // Behind both ends: state, queues, timer, retransmissions, user, timeout, inode. One without a process has no inode.
      const [, , , , user, , inode] = table.slice(at + pair.length + 1, table.indexOf('\n', at)).split(/ +/);
      return user === own && inode !== NO_INODE;
    }),
  );
}

function readTable(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // a kernel without it
  }
}

/** As the tables write it: each word of the address as one number of the machine, and the port. */
function endOf(address = '', port: number): string {
  const plain = address.replace(/^::ffff:/, '');
  const words = isIPv4(plain) ? [plain.split('.').map(Number)] : v6Words(plain);
  const inOrder = words.flatMap((word) => (endianness() === 'LE' ? word.toReversed() : word));
  return `${inOrder.map((byte) => hex(byte, 2)).join('')}:${hex(port, 4)}`;
}

/** Of the loopback address alone: connections from elsewhere are nobody's of this machine. */
function v6Words(address: string): number[][] {
  const bytes = Array.from({ length: V6_WORDS * WORD_BYTES }, () => 0);
  if (address === '::1') bytes[bytes.length - 1] = 1;
  return Array.from({ length: V6_WORDS }, (_, index) =>
    bytes.slice(index * WORD_BYTES, (index + 1) * WORD_BYTES),
  );
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
