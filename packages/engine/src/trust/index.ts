export type { AskLine, Trust, TrustReport } from './contract.ts';
export { createTrust } from './create-trust.ts';
export { TrustChangedError, TrustRequiredError } from './errors.ts';
export { adoptStateFolder, findStateFolder, openStateFolder, type OwnState } from './state-folder.ts';
export {
  NoStateError,
  StateFolderError,
  StateFolderRefused,
  StateMarkerError,
  type StateRefusal,
} from './state-errors.ts';
export { inspectStateFolder, type StatePlace, type StateStanding } from './state-inspection.ts';
