/** What a spare worker gets first of its host (protocol's `assign`); what follows it stays in the stream. */
import type { Readable } from 'node:stream';
import { readControlMessage } from '@caisson/protocol';
import type { Assignment } from '../attempt/index.ts';

const LF = 10;

/** Rejects when the host is gone. */
export function readAssignment(orders: Readable): Promise<Assignment> {
  return new Promise((resolve, reject) => {
    let read: Buffer = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      read = Buffer.concat([read, chunk]);
      const end = read.indexOf(LF);
      if (end === -1) return;
      orders.off('data', onData).pause();
      orders.unshift(read.subarray(end + 1));
      const message = readControlMessage(JSON.parse(read.toString('utf8', 0, end)));
      if (message?.kind === 'assign') resolve(message);
      else reject(new Error('its first line is no assignment'));
    };
    for (const end of ['end', 'error', 'close'])
      orders.once(end, () => reject(new Error('the host is gone')));
    orders.on('data', onData);
  });
}
