export * from './contract.ts';
export * from './errors.ts';
export { openKeyring, type Keyring, type ListedKey } from './keys.ts';
export { parsePublicKey } from './public-key.ts';
export { encodeManifest, EvidenceManifest } from './manifest.ts';
export { composeManifest, type SealingHost } from './compose-manifest.ts';
export { listArtefacts } from './list-artefacts.ts';
export { merkleRoot } from './merkle.ts';
export { prepareSeal, signSeal, type PreparedSeal, type Seal, type SealInput } from './seal.ts';
export {
  findChainBreak,
  listNewestSeals,
  listSeals,
  nextLink,
  refuseLostSeal,
  type RecordedSeal,
} from './seal-chain.ts';
export { openLedgerHeads, type HeadVerdict, type LedgerHeads } from './ledger-head.ts';
export {
  describeWitnessed,
  encodeWitnessLine,
  findContradiction,
  parseWitness,
  type WitnessLine,
} from './witness.ts';
export type { AgentSigner } from './agent-key.ts';
export { parseStoredEnvelope } from './dsse.ts';
export { findSeal, listSealedArtefacts } from './find-seal.ts';
export { exportRun, type Exported, type ExportInput } from './export.ts';
export { verifyExport, verifyRun, type LedgerCheck, type VerifyOptions } from './verify.ts';
export { createFileSink } from './file-sink.ts';
