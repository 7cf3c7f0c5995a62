export { ACTION_CLASSES, severityOf, type ActionClass } from './action-class.ts';
export { decide, getMode, type Decision } from './decide.ts';
export { UnknownModeError } from './errors.ts';
export { describeExcess, isWithin, meet, normalizeGrant } from './meet.ts';
