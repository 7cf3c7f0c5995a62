export { describeInput } from './describe-call.ts';
export { openCoordination, type Coordination } from './open-coordination.ts';
export { createSelfGate } from './self-gate.ts';
