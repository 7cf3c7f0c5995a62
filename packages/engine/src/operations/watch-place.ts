import type { DaemonIdentity } from '@caisson/protocol';
import { hasLease, type DaemonLife } from '../daemon/index.ts';
import type { Engine } from '../engine.ts';
import { LedgerGoneError } from '../ledger/index.ts';

/** A daemon ends when its place is not its own any more (DM1, DM4). */
export function watchPlace(
  engine: Engine,
  own: DaemonIdentity,
  { life, warn }: { life: DaemonLife; warn(message: string): void },
) {
  let gone: Error | null = null;
  return {
    gone: () => gone,
    isInPlace: (): boolean => engine.ledger.isThere() && hasLease(engine, own),
    endGone(): void {
      gone ??= new LedgerGoneError(engine.ledger.file);
      life.force();
    },
    leaveIfReplaced(): void {
      if (life.phase() !== 'serving' || hasLease(engine, own)) return;
      warn('another daemon serves this project by now; this one leaves');
      life.stop({ leave: true });
    },
  };
}
