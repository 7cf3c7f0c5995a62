export { createBus } from './create-bus.ts';
export { emitSafe } from './emit-safe.ts';
export type { BusEvent, BusGap, BusLike, BusSubscription, SafeEventBus } from './contract.ts';
