export type { AskLine, Trust, TrustReport } from './contract.ts';
export { createTrust } from './create-trust.ts';
export { TrustChangedError, TrustRequiredError } from './errors.ts';
export { adoptStateFolder, openStateFolder, type OwnState } from './state-folder.ts';
export { StateFolderError, StateFolderRefused, StateMarkerError, type StateRefusal } from './state-errors.ts';
export { inspectStateFolder, type StatePlace, type StateStanding } from './state-inspection.ts';
