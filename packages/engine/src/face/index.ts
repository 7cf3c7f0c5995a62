export type * from './contract.ts';
export { createGuard, type Guard } from './guard.ts';
export { createLinks, type Links } from './links.ts';
export {
  listOrigins,
  LOOPBACK,
  readCertificate,
  readPlace,
  requireSafeListening,
  type Certificate,
  type ListenPlace,
} from './listen-place.ts';
export { createOpenAnswers } from './open-answers.ts';
export { readPages } from './pages.ts';
export { allows, scopeOfCall, scopeOfPath } from './scopes.ts';
export { createTokens, type TokenOrder, type Tokens } from './tokens.ts';
