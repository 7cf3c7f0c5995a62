/** A session ends after some hours; a page that stays open takes a new token before that. */
import type { Client } from './client.ts';
import { keepSession, type Session } from './session.ts';

const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 86_400_000;

/** Rotates at half of the time that is left, and again at half of the rest where that failed. Returns what ends it. */
export function keepSignedIn(
  client: Pick<Client, 'rotate'>,
  first: Session,
  storage: Pick<Storage, 'setItem'>,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  const wait = (session: Session): void => {
    const leftMs = Date.parse(session.expiresAt ?? '') - Date.now();
    if (isStopped || !(leftMs > 0)) return; // without an end, or over
    timer = setTimeout(() => void rotate(session), Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, leftMs / 2)));
  };
  const rotate = async (session: Session): Promise<void> => {
    const next = await client.rotate().catch(() => null);
    if (next !== null && !isStopped) keepSession(storage, next);
    wait(next ?? session);
  };
  wait(first);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
