/**
 * Whose connection on loopback it is. Every account of the machine can connect there, and what it asks for would be in
 * this run's record. The kernel names the user of each TCP socket; a sandbox of ours has our user, whatever it is inside.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

/** Programs with sockets of both kinds in one, as those of Java, are in the second. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const NO_INODE = '0';

/** False for another user's socket and for one that is gone already. True where the kernel shows no sockets at all. */
export function isOwnPeer({ remoteAddress, remotePort, localAddress, localPort }: Socket): boolean {
  if (remotePort === undefined || localPort === undefined) return false;
  const tables = TABLES.flatMap((path) => readTable(path));
  if (tables.length === 0) return true;
  const [theirs, ours] = [endOf(remoteAddress, remotePort), endOf(localAddress, localPort)];
  const own = String(process.geteuid?.() ?? 0);
  return tables.some((line) => {
    // A socket without a process has user 0 and no inode.
    const [, local = '', remote = '', , , , , user, , inode] = line.trim().split(/\s+/);
    return local.endsWith(theirs) && remote.endsWith(ours) && user === own && inode !== NO_INODE;
  });
}

function readTable(path: string): string[] {
  try {
    return readFileSync(path, 'latin1').split('\n').slice(1);
  } catch {
    return []; // a kernel without it
  }
}

/** As the tables write it: the address as one number of the machine, and the port. */
function endOf(address = '', port: number): string {
  const bytes = address
    .replace(/^::ffff:/, '')
    .split('.')
    .map((part) => hex(Number(part), 2));
  const inOrder = endianness() === 'LE' ? bytes.toReversed() : bytes;
  return `${inOrder.join('')}:${hex(port, 4)}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
