import { createBus, type SafeEventBus } from '../bus/index.ts';

/** When the listener for warnings has failed, no listener on the bus is left. */
export function openBus(): SafeEventBus {
  return createBus({ onUnreportable: (message) => process.emitWarning(message, 'CaissonBusWarning') });
}
