export type { AskLine, Trust, TrustReport } from './contract.ts';
export { createTrust } from './create-trust.ts';
export { TrustRequiredError, TrustStoreError } from './errors.ts';
