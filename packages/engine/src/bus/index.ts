export { createBus } from './create-bus.ts';
export { emitSafe } from './emit-safe.ts';
export type {
  BusEvent,
  BusGap,
  BusLike,
  BusListener,
  BusOptions,
  BusSubscription,
  SafeEventBus,
  SubscribeOptions,
} from './contract.ts';
