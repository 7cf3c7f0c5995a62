export { openCoordination, type Coordination } from './open-coordination.ts';
export { createSelfGate } from './self-gate.ts';
