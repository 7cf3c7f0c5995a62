/** Takes over a worker whose host is gone, over the worker's own socket (protocol's `adoption.ts`). */
import { connect, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { isListening, isSameProcess, sendSignal, throughFolder } from '@caisson/ground';
import { AdoptionAnswer, encodeNdjson, type AdoptionClaim, type Handover } from '@caisson/protocol';
import type { AdoptedWorker, WorkerHandle, WorkerProcess } from './contract.ts';
import { WorkerUnreachableError } from './errors.ts';

const ANSWER_MS = 10_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const LF = 10;
/** How often an adopted worker is looked at; it is no child of ours, and the kernel reports nothing. */
const LOOK_MS = 500;
/** It ends a moment after its last line; one that goes on has another host by now. */
const LOOK_AFTER_CLOSE_MS = 10;
const CLOSE_LOOKS = 300;

export async function adoptWorker(
  handle: WorkerHandle,
  path: string,
  claim: AdoptionClaim,
  signal?: AbortSignal,
): Promise<AdoptedWorker> {
  const socket = await connectTo(path);
  const giveUp = (): void => void socket.destroy();
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    signal?.throwIfAborted(); // while we connected
    socket.write(encodeNdjson(claim));
    const handover = await readHandover(socket);
    return { worker: describeAdopted(handle, socket), handover };
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

/** Whether it lives, and listens for the next host. */
export async function canAdopt(handle: WorkerHandle, socket: string): Promise<boolean> {
  return (
    isSameProcess(handle.pid, handle.startTime) && (await isListening(dirname(socket), basename(socket)))
  );
}

function connectTo(path: string): Promise<Socket> {
  return throughFolder(
    dirname(path),
    (prefix) =>
      new Promise<Socket>((resolve, reject) => {
        const socket = connect(join(prefix, basename(path)), () => {
          socket.off('error', reject);
          resolve(socket);
        });
        socket.once('error', reject);
      }),
  ).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException; // the message names a path that is only ours
    throw new WorkerUnreachableError(`the worker does not listen: ${code ?? message}`, { cause: error });
  });
}

/** The answer is one line; what follows it is the worker's stream and stays in the socket. */
function readHandover(socket: Socket): Promise<Handover> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    const fail = (why: string): void => {
      leave();
      reject(new WorkerUnreachableError(`the worker was not adopted: ${why}`));
    };
    const onData = (chunk: Buffer): void => {
      const end = chunk.indexOf(LF);
      parts.push(end === -1 ? chunk : chunk.subarray(0, end));
      if (parts.reduce((sum, { length }) => sum + length, 0) > MAX_ANSWER_BYTES)
        return fail('it says too much');
      if (end === -1) return;
      leave();
      socket.pause();
      if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1));
      const answer = parseAnswer(Buffer.concat(parts));
      if (answer?.ok === true) resolve(answer.handover);
      else fail(answer?.why ?? 'its answer cannot be read');
    };
    const onClose = (): void => fail('it closed the connection');
    const onError = ({ message }: Error): void => fail(message);
    const late = setTimeout(() => fail(`no answer within ${ANSWER_MS / 1000} s`), ANSWER_MS);
    const leave = (): void => {
      clearTimeout(late);
      socket.off('data', onData).off('close', onClose).off('error', onError);
      socket.on('error', () => undefined); // its end says the same
    };
    socket.on('data', onData).on('close', onClose).on('error', onError);
  });
}

function parseAnswer(bytes: Buffer): AdoptionAnswer | null {
  try {
    return AdoptionAnswer.safeParse(JSON.parse(bytes.toString('utf8'))).data ?? null;
  } catch {
    return null; // reported as an answer that cannot be read
  }
}

function describeAdopted(handle: WorkerHandle, socket: Socket): WorkerProcess {
  return {
    handle,
    stdout: socket,
    control: socket,
    stderrTail: () => '', // it went to the host before
    input: new PassThrough().end(),
    output: new PassThrough().end().resume(),
    exited: untilGone(handle, socket),
    kill() {
      if (isSameProcess(handle.pid, handle.startTime)) sendSignal(handle.pid, 'SIGKILL');
    },
  };
}

async function untilGone(
  { pid, startTime }: WorkerHandle,
  socket: Socket,
): Promise<{ code: null; signal: null }> {
  let look = (): void => undefined;
  socket.once('close', () => look());
  let looksAfterClose = 0;
  while (isSameProcess(pid, startTime)) {
    const isNear = socket.closed && (looksAfterClose += 1) < CLOSE_LOOKS;
    await new Promise<void>((resolve) => {
      look = resolve;
      setTimeout(resolve, isNear ? LOOK_AFTER_CLOSE_MS : LOOK_MS).unref();
    });
  }
  return { code: null, signal: null };
}
